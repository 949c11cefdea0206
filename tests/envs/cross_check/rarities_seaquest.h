// The situations of minatar/seaquest (rarities.h). They are derived from the game before and after
// a step, so an enemy that has just entered is sometimes overlooked.
#pragma once

#include <algorithm>
#include <cstdlib>

#include "envs/games/minatar_seaquest.h"
#include "tests/envs/cross_check/rarities.h"

namespace starling::envs::cross_check {

template <>
struct Rarities<MinatarSeaquest> {
  using G = MinatarSeaquest;
  using Swimmers = G::List<G::Swimmer, G::kMaxEnemies>;
  static constexpr std::size_t kDepth = 24;
  // The first ten: a rescue with 0 to 9 lit cells.
  enum : std::size_t {
    kRescue,
    kSurfacedWithSome = 10,
    kSurfacedWithNone,
    kSurfacedBelowNone,
    kSurfacedAtZeroOxygen,
    kDrowned,
    kSeventhDiver,
    kTwoDiversAtOnce,
    kDiverSwimsToUs,
    kDiverComesOnUs,
    kBackToNone,
    kBulletAtTwo,
    kBulletAtFishAndSub,
    kBulletAtThree,
    kTwoSwimOntoBullet,
    kPointBlank,
    kSubSwimsToUs,
    kSubSwimsToUsGunDue,
    kSubSwimsOntoBullet,
    kSubSwimsOntoBulletGunDue,
    kSubLeavesGunDue,
    kFishSwimsToUs,
    kWeGoToEnemy,
    kWeGoToEnemyBullet,
    kEnemyBulletComes,
    kEnemyComesOnUs,
    kOpposing,
    kOurTwoBullets,
    kBulletsCross,
    kPointsInLastStep,
    kBelowMinusTwo,
    kInterval10,
    kInterval5,
    kInterval2,
    kInterval1,
    kInterval1Again,
    kWait4,
    kWait3,
    kWait2,
    kShotAtSurface,
    kCount
  };
  static constexpr auto kNames = Names<kCount>(
      "rescue, 0 cells lit; rescue, 1 lit; rescue, 2 lit; rescue, 3 lit; rescue, 4 lit; "
      "rescue, 5 lit; rescue, 6 lit; rescue, 7 lit; rescue, 8 lit; rescue, 9 lit; surfaced "
      "with 1 to 5 divers; surfaced with none; surfaced with a negative count; surfaced at "
      "oxygen 0; oxygen ran out; a diver touched with six aboard; two divers picked up in one "
      "step; a diver swims to us; a diver comes in on us; count back at 0 from below; bullet "
      "comes to two enemies or more; bullet comes to a fish and a sub; bullet comes to three "
      "enemies or more; two enemies swim onto one bullet; an enemy shot point-blank; enemy sub "
      "swims into us; enemy sub swims into us, its gun due; enemy sub swims onto a bullet; "
      "enemy sub swims onto a bullet, its gun due; enemy sub leaves, its gun due; fish swims "
      "into us; we go to an enemy; we go to an enemy bullet; an enemy bullet comes to us; an "
      "enemy comes in on us; an enemy stays away (traffic); two of our bullets; our bullet "
      "meets one of theirs; points in the last step; a count below -2; interval 10 to 6; "
      "interval 5 to 3; interval 2; interval 1; ramp at interval 1; swim wait 4; swim wait 3; "
      "swim wait 2; shot from the surface");

  static std::uint64_t Seen(const G& before, const G& after, int action, const Outcome& outcome) {
    Bits seen;
    Surfacing(before, after, outcome, seen);
    Divers(before, after, seen);
    Bullets(before, after, action, seen);
    Enemies(before, after, seen);
    seen.Add(kPointsInLastStep, outcome.terminal && outcome.reward > 0);
    seen.Add(kInterval10, after.enemy_interval <= 10 && after.enemy_interval > 5);
    seen.Add(kInterval5, after.enemy_interval <= 5 && after.enemy_interval > 2);
    seen.Add(kInterval2, after.enemy_interval == 2);
    seen.Add(kInterval1, after.enemy_interval == 1);
    seen.Add(kInterval1Again, before.enemy_interval == 1 && after.ramps != before.ramps);
    seen.Add(kWait4, after.swim_wait == 4);
    seen.Add(kWait3, after.swim_wait == 3);
    seen.Add(kWait2, after.swim_wait == 2);
    return seen.all();
  }

  // Tastes: for divers, for surfacing, and the oxygen to surface at.
  static double Liking(const G& now, const G& later, const Tastes& tastes) {
    double liking = 3 * tastes[0] * later.divers_held;
    int nearest = 20;
    for (int i = 0; i < later.divers.count; ++i) {
      const G::Swimmer& diver = later.divers.at[i];
      nearest = std::min(nearest,
                         std::abs(diver.row - later.row) + std::abs(diver.column - later.column));
    }
    if (later.divers_held < G::kMaxDiversHeld) liking -= 0.1 * tastes[0] * nearest;
    const bool surfaces = later.oxygen > now.oxygen;
    const bool full = now.divers_held == G::kMaxDiversHeld;
    const bool wants = now.divers_held < 0 ? tastes[1] < 0.7
                                           : now.oxygen < 10 || ((full || tastes[3] < 0.2) &&
                                                                 now.oxygen < 200 * tastes[2]);
    liking += surfaces == wants ? 8 : 0;
    if (wants) liking -= 0.3 * later.row;
    return liking;
  }

 private:
  template <class T>
  static bool At(const T& thing, int row, int column) {
    return thing.row == row && thing.column == column;
  }
  static int CountAt(const Swimmers& list, int row, int column) {
    int count = 0;
    for (int i = 0; i < list.count; ++i) count += At(list.at[i], row, column);
    return count;
  }

  static void Surfacing(const G& before, const G& after, const Outcome& outcome, Bits& seen) {
    seen.Add(kDrowned, after.oxygen < 0);
    if (before.surfaced || after.row != 0) return;
    seen.Add(kSurfacedAtZeroOxygen, before.oxygen == 0);
    seen.Add(kSurfacedWithNone, outcome.terminal && !after.surfaced);
    if (!after.surfaced) return;
    const bool rescue = before.divers_held == G::kMaxDiversHeld;
    if (rescue) seen.Add(kRescue + static_cast<std::size_t>(before.OxygenCells()));
    seen.Add(kSurfacedWithSome, !rescue && after.divers_held >= 0);
    seen.Add(kSurfacedBelowNone, !rescue && after.divers_held < 0);
  }

  static void Divers(const G& before, const G& after, Bits& seen) {
    seen.Add(kBelowMinusTwo, after.divers_held < -2);
    seen.Add(kTwoDiversAtOnce, after.divers_held > before.divers_held + 1);
    seen.Add(kBackToNone, before.divers_held < 0 && after.divers_held == 0);
    for (int i = 0; i < after.divers.count; ++i) {
      seen.Add(kSeventhDiver, At(after.divers.at[i], after.row, after.column));
    }
    const bool picked = after.divers_held > before.divers_held;
    seen.Add(kDiverComesOnUs,
             picked && before.diver_timer == 0 && after.divers.count == before.divers.count);
    for (int i = 0; i < before.divers.count; ++i) {
      const G::Swimmer& diver = before.divers.at[i];
      seen.Add(kDiverSwimsToUs,
               picked && diver.wait == 0 && At(diver, after.row, after.column - diver.step));
    }
  }

  static void Bullets(const G& before, const G& after, int action, Bits& seen) {
    const bool fires = action == G::kFire && before.gun_timer == 0;
    seen.Add(kOurTwoBullets, after.bullets.count == 2);
    seen.Add(kShotAtSurface, fires && before.row == 0);
    const int step = before.facing_right ? 1 : -1;
    if (fires) {
      const int column = before.column + step;
      seen.Add(
          kPointBlank,
          CountAt(before.fish, before.row, column) + CountAt(before.subs, before.row, column) > 0);
      BulletAt(before, before.row, column, seen);
    }
    for (int i = 0; i < before.bullets.count; ++i) {
      const G::Bullet& bullet = before.bullets.at[i];
      BulletAt(before, bullet.row, bullet.column + bullet.step, seen);
    }
  }

  static void BulletAt(const G& before, int row, int column, Bits& seen) {
    if (column < 0 || column >= G::kSide) return;
    const int fish = CountAt(before.fish, row, column), subs = CountAt(before.subs, row, column);
    seen.Add(kBulletAtTwo, fish + subs > 1);
    seen.Add(kBulletAtThree, fish + subs > 2);
    seen.Add(kBulletAtFishAndSub, fish > 0 && subs > 0);
    seen.Add(kBulletsCross,
             ((before.bullets_left[row] | before.bullets_right[row]) >> column & 1) != 0);
    if (fish + subs > 0) return;
    int comers = 0;
    for (const Swimmers* list : {&before.fish, &before.subs}) {
      for (int i = 0; i < list->count; ++i) {
        const G::Swimmer& enemy = list->at[i];
        if (enemy.wait != 0 || !At(enemy, row, column - enemy.step)) continue;
        ++comers;
        seen.Add(kSubSwimsOntoBullet, list == &before.subs);
        seen.Add(kSubSwimsOntoBulletGunDue, list == &before.subs && enemy.gun == 0);
      }
    }
    seen.Add(kTwoSwimOntoBullet, comers > 1);
  }

  static void Enemies(const G& before, const G& after, Bits& seen) {
    const int row = after.row, column = after.column;
    const int enemies = CountAt(before.fish, row, column) + CountAt(before.subs, row, column);
    seen.Add(kWeGoToEnemy, enemies > 0);
    const bool comes = before.enemy_timer == 0;
    seen.Add(kEnemyComesOnUs,
             comes && enemies == 0 &&
                 CountAt(after.fish, row, column) + CountAt(after.subs, row, column) > 0 &&
                 (column == 0 || column == G::kSide - 1));
    seen.Add(kOpposing,
             comes && after.fish.count + after.subs.count < before.fish.count + before.subs.count);
    for (const Swimmers* list : {&before.fish, &before.subs}) {
      const bool fish = list == &before.fish;
      for (int i = 0; i < list->count; ++i) {
        const G::Swimmer& enemy = list->at[i];
        if (enemy.wait != 0) continue;
        const bool to_us = At(enemy, row, column - enemy.step);
        seen.Add(fish ? kFishSwimsToUs : kSubSwimsToUs, to_us);
        seen.Add(kSubSwimsToUsGunDue, to_us && !fish && enemy.gun == 0);
        const int next = enemy.column + enemy.step;
        seen.Add(kSubLeavesGunDue, !fish && enemy.gun == 0 && (next < 0 || next >= G::kSide));
      }
    }
    const unsigned left = before.bullets_left[row], right = before.bullets_right[row];
    seen.Add(kWeGoToEnemyBullet, ((left | right) >> column & 1) != 0);
    seen.Add(kEnemyBulletComes, ((left >> 1 | right << 1) >> column & 1) != 0);
  }
};

}  // namespace starling::envs::cross_check
