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
  static constexpr Names kNames{
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
      "swim wait 2; shot from the surface"};

  static std::uint64_t Seen(const G& before, const G& after, int action, const Outcome& outcome) {
    Bits seen;
    Surfacing(before, after, outcome, seen);
    Divers(before, after, seen);
    Bullets(before, after, action, seen);
    Enemies(before, after, seen);
    seen.Add(kNames["points in the last step"], outcome.terminal && outcome.reward > 0);
    seen.Add(kNames["interval 10 to 6"], after.enemy_interval <= 10 && after.enemy_interval > 5);
    seen.Add(kNames["interval 5 to 3"], after.enemy_interval <= 5 && after.enemy_interval > 2);
    seen.Add(kNames["interval 2"], after.enemy_interval == 2);
    seen.Add(kNames["interval 1"], after.enemy_interval == 1);
    seen.Add(kNames["ramp at interval 1"],
             before.enemy_interval == 1 && after.ramps != before.ramps);
    seen.Add(kNames["swim wait 4"], after.swim_wait == 4);
    seen.Add(kNames["swim wait 3"], after.swim_wait == 3);
    seen.Add(kNames["swim wait 2"], after.swim_wait == 2);
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
    seen.Add(kNames["oxygen ran out"], after.oxygen < 0);
    if (before.surfaced || after.row != 0) return;
    seen.Add(kNames["surfaced at oxygen 0"], before.oxygen == 0);
    seen.Add(kNames["surfaced with none"], outcome.terminal && !after.surfaced);
    if (!after.surfaced) return;
    const bool rescue = before.divers_held == G::kMaxDiversHeld;
    if (rescue)
      seen.Add(kNames["rescue, 0 cells lit"] + static_cast<std::size_t>(before.OxygenCells()));
    seen.Add(kNames["surfaced with 1 to 5 divers"], !rescue && after.divers_held >= 0);
    seen.Add(kNames["surfaced with a negative count"], !rescue && after.divers_held < 0);
  }

  static void Divers(const G& before, const G& after, Bits& seen) {
    seen.Add(kNames["a count below -2"], after.divers_held < -2);
    seen.Add(kNames["two divers picked up in one step"],
             after.divers_held > before.divers_held + 1);
    seen.Add(kNames["count back at 0 from below"],
             before.divers_held < 0 && after.divers_held == 0);
    for (int i = 0; i < after.divers.count; ++i) {
      seen.Add(kNames["a diver touched with six aboard"],
               At(after.divers.at[i], after.row, after.column));
    }
    const bool picked = after.divers_held > before.divers_held;
    seen.Add(kNames["a diver comes in on us"],
             picked && before.diver_timer == 0 && after.divers.count == before.divers.count);
    for (int i = 0; i < before.divers.count; ++i) {
      const G::Swimmer& diver = before.divers.at[i];
      seen.Add(kNames["a diver swims to us"],
               picked && diver.wait == 0 && At(diver, after.row, after.column - diver.step));
    }
  }

  static void Bullets(const G& before, const G& after, int action, Bits& seen) {
    const bool fires = action == G::kFire && before.gun_timer == 0;
    seen.Add(kNames["two of our bullets"], after.bullets.count == 2);
    seen.Add(kNames["shot from the surface"], fires && before.row == 0);
    const int step = before.facing_right ? 1 : -1;
    if (fires) {
      const int column = before.column + step;
      seen.Add(
          kNames["an enemy shot point-blank"],
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
    seen.Add(kNames["bullet comes to two enemies or more"], fish + subs > 1);
    seen.Add(kNames["bullet comes to three enemies or more"], fish + subs > 2);
    seen.Add(kNames["bullet comes to a fish and a sub"], fish > 0 && subs > 0);
    seen.Add(kNames["our bullet meets one of theirs"],
             ((before.bullets_left[row] | before.bullets_right[row]) >> column & 1) != 0);
    if (fish + subs > 0) return;
    int comers = 0;
    for (const Swimmers* list : {&before.fish, &before.subs}) {
      for (int i = 0; i < list->count; ++i) {
        const G::Swimmer& enemy = list->at[i];
        if (enemy.wait != 0 || !At(enemy, row, column - enemy.step)) continue;
        ++comers;
        seen.Add(kNames["enemy sub swims onto a bullet"], list == &before.subs);
        seen.Add(kNames["enemy sub swims onto a bullet, its gun due"],
                 list == &before.subs && enemy.gun == 0);
      }
    }
    seen.Add(kNames["two enemies swim onto one bullet"], comers > 1);
  }

  static void Enemies(const G& before, const G& after, Bits& seen) {
    const int row = after.row, column = after.column;
    const int enemies = CountAt(before.fish, row, column) + CountAt(before.subs, row, column);
    seen.Add(kNames["we go to an enemy"], enemies > 0);
    const bool comes = before.enemy_timer == 0;
    seen.Add(kNames["an enemy comes in on us"],
             comes && enemies == 0 &&
                 CountAt(after.fish, row, column) + CountAt(after.subs, row, column) > 0 &&
                 (column == 0 || column == G::kSide - 1));
    seen.Add(kNames["an enemy stays away (traffic)"],
             comes && after.fish.count + after.subs.count < before.fish.count + before.subs.count);
    for (const Swimmers* list : {&before.fish, &before.subs}) {
      const bool fish = list == &before.fish;
      for (int i = 0; i < list->count; ++i) {
        const G::Swimmer& enemy = list->at[i];
        if (enemy.wait != 0) continue;
        const bool to_us = At(enemy, row, column - enemy.step);
        seen.Add(fish ? kNames["fish swims into us"] : kNames["enemy sub swims into us"], to_us);
        seen.Add(kNames["enemy sub swims into us, its gun due"], to_us && !fish && enemy.gun == 0);
        const int next = enemy.column + enemy.step;
        seen.Add(kNames["enemy sub leaves, its gun due"],
                 !fish && enemy.gun == 0 && (next < 0 || next >= G::kSide));
      }
    }
    const unsigned left = before.bullets_left[row], right = before.bullets_right[row];
    seen.Add(kNames["we go to an enemy bullet"], ((left | right) >> column & 1) != 0);
    seen.Add(kNames["an enemy bullet comes to us"], ((left >> 1 | right << 1) >> column & 1) != 0);
  }
};

}  // namespace starling::envs::cross_check
