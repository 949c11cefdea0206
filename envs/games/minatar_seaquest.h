// "minatar/seaquest": a submarine that fights, gathers divers and must come up for air, on a 10 x
// 10 grid.
//
// Written from a description of the rules and held to recorded play of the MinAtar package, step by
// step (envs/trace.h). Channels: sub_front, sub_back, friendly_bullet, trail (the cell behind every
// enemy and diver), enemy_bullet, enemy_fish, enemy_sub, oxygen gauge, diver gauge, diver. All six
// actions do something. Reward 1 an enemy shot, and the bonus of a rescue.
//
// The sub (its front is what counts) lives in rows 0-8, row 0 is the surface, fish, enemy subs and
// divers keep to rows 1-8, row 9 shows the gauges. One step, in this order:
//   an enemy     comes, first when 20 steps are past and then every 20. Three draws: the side (a
//                real below 1/2: the left), the kind (a real below 1/3: a sub) and the row, in [1,
//                9). It stays away if any enemy in that row swims the other way; all is drawn all
//                the same.
//   a diver      comes, every 30 steps: the side and the row, drawn alike. Divers mind nobody.
//   the sub      moves, facing left or right as it last moved there, or fires if its last shot is
//                at least 5 steps old.
//   our bullets  move one cell, a new one too, and leave at the edges. A bullet that comes to an
//                enemy goes with it, +1.
//   divers       are picked up where they touch the sub, before and after they swim, while we hold
//                fewer than six. The youngest comes first.
//   enemy subs   touch: the end. They swim: into us, the end; into a bullet of ours: both go, +1.
//                Then the gun: a bullet starts from where they are now.
//   theirs       (enemy bullets) touch: the end. They move one cell, a new one too: into us, the
//                end.
//   fish         as enemy subs, without a gun.
//   oxygen       where none of the 200 was left, the end. Below row 0 one is used. Coming to row 0
//                with no diver: the end. With any other number we surface.
// Swimmers move when a count of 5 is down to 0, which makes every sixth step: the step at 0 moves
// and sets the count, and does not count down. An enemy's count is set to `swim_wait`, which ramps;
// the guns' count is 10, a shot every eleventh step. Spawn counts and our own gun are exact.
//
// Surfacing: with exactly six divers, one point for every lit cell of the gauge, and the count is
// cleared. Then, always, one diver is lost and oxygen is full. The ramp: the spawn interval falls
// by one, down to 1, and at every second surfacing swim_wait by one, 5 down to 2. Counts that are
// under way run out first. Without `ramping` neither changes.
//
// Easy to get wrong:
//   - After a rescue the count is -1. It is not 0, so surfacing again is free (and makes it -2),
//     the gauge shows nothing, and the next rescue needs seven divers more; back at 0 it is deadly.
//   - A cell of the gauge stands for 20: 199 lights nine cells, 19 none. A rescue pays 9 at most.
//   - The last step is played out: everything moves, and hits are rewarded.
//   - A friendly and an enemy bullet pass each other. Enemies and enemy bullets never pass through
//     the sub, since they look before they move as well.
//
// What recordings do not show, but the package does (scripts/cross-check-minatar):
//   - Several enemies in the cell of one bullet: it takes one, fish before subs, the older first.
//   - An enemy sub shot in the step of its gun fires all the same, as does one that swims into us.
//   - Divers are looked at from the youngest to the oldest: of two at the sub, the younger is the
//     sixth. A seventh is left where it is.
//   - Surfacing with oxygen down to 0 is too late: everything happens, and the episode ends.
// Two enemies never swim onto one bullet in the same step: in a row all swim one way, and who came
// later never catches up.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "envs/chance.h"
#include "envs/game.h"

namespace starling::envs {

struct MinatarSeaquest {
  static constexpr int kNoop = 0, kLeft = 1, kUp = 2, kRight = 3, kDown = 4, kFire = 5;
  static constexpr int kNumActions = 6;
  static constexpr std::array<int, 6> kMinimalActions = {kNoop, kLeft, kUp, kRight, kDown, kFire};
  static constexpr int kSubFrontChannel = 0, kSubBackChannel = 1, kFriendlyBulletChannel = 2;
  static constexpr int kTrailChannel = 3, kEnemyBulletChannel = 4, kFishChannel = 5;
  static constexpr int kEnemySubChannel = 6, kOxygenChannel = 7, kDiverGaugeChannel = 8;
  static constexpr int kDiverChannel = 9, kChannels = 10;
  static constexpr int kSide = 10, kLastRow = 8, kGaugeRow = 9;
  static constexpr int kFullOxygen = 200, kOxygenOfCell = kFullOxygen / kSide;
  static constexpr int kCooldown = 5, kEnemyCooldown = 10;
  static constexpr int kDiverInterval = 30, kDiverWait = 5, kMaxDiversHeld = 6;
  static constexpr int kFirstEnemyInterval = 20, kLastEnemyInterval = 1;
  static constexpr int kFirstSwimWait = 5, kLastSwimWait = 2;

  // Anything that swims: a fish, an enemy sub, a diver.
  struct Swimmer {
    std::int8_t column, row, step;  // step: -1 left, +1 right
    std::int8_t wait;               // steps until it moves
    std::int8_t gun;                // steps until it fires; of enemy subs only
    friend constexpr bool operator==(const Swimmer&, const Swimmer&) = default;
  };
  struct Bullet {
    std::int8_t column, row, step;
    friend constexpr bool operator==(const Bullet&, const Bullet&) = default;
  };

  // At most kMax things in order of age, the oldest first.
  template <class T, int kMax>
  struct List {
    T at[kMax] = {};
    int count = 0;

    constexpr void Add(const T& item) { at[count++] = item; }
    constexpr void RemoveAt(int index) {
      --count;
      for (int i = index; i < count; ++i) at[i] = at[i + 1];
    }
    friend constexpr bool operator==(const List& a, const List& b) {
      bool same = a.count == b.count;
      for (int i = 0; same && i < a.count; ++i) same = a.at[i] == b.at[i];
      return same;
    }
  };

  // How many there can be. A swimmer leaves with its tenth move, and moves every sixth step at the
  // latest, the first time at most five steps after it came: it is there in at most 5 + 9 * 6 + 1 =
  // 60 steps. In these at most 60 enemies come, one a step, and two divers, one in 30. A bullet of
  // ours has nine cells ahead at most, so it leaves in the tenth step, and the third shot comes in
  // the eleventh.
  static constexpr int kMaxEnemies = 60, kMaxDivers = 2, kMaxBullets = 2;

  bool ramping = true;  // an option: outlives a reset

  bool surfaced = true;  // nothing happens at row 0 until the sub has been down
  bool facing_right = false;
  int column = 5,
      row = 0;  // of the sub's front. Its back is in the grid: to face right it must have
                // moved there, and to face left at column 9 it cannot
  int oxygen = kFullOxygen;                                             // -1: died of it
  int divers_held = 0;                                                  // may be negative
  int gun_timer = 0;                                                    // steps until we may fire
  int enemy_timer = kFirstEnemyInterval, diver_timer = kDiverInterval;  // steps until one comes
  int enemy_interval = kFirstEnemyInterval, swim_wait = kFirstSwimWait;
  int ramps = 0;
  // Of each row, bit c is column c. Two enemy bullets in a cell are as good as one.
  std::uint16_t bullets_left[kLastRow + 1] = {}, bullets_right[kLastRow + 1] = {};
  List<Bullet, kMaxBullets> bullets;  // ours
  List<Swimmer, kMaxDivers> divers;
  List<Swimmer, kMaxEnemies> fish, subs;

  static EnvSpec Spec();

  template <Chance C>
  constexpr void Reset(C&) {
    const bool keep = ramping;
    *this = {};
    ramping = keep;
  }

  template <Chance C>
  constexpr Outcome Step(int action, C& chance) {
    if (enemy_timer == 0) SpawnEnemy(chance);
    if (diver_timer == 0) SpawnDiver(chance);
    Act(action);
    int points = MoveBullets();
    MoveDivers();
    bool over = MoveEnemies(subs, true, points);
    over |= MoveEnemyBullets();
    over |= MoveEnemies(fish, false, points);
    if (enemy_timer > 0) --enemy_timer;
    if (diver_timer > 0) --diver_timer;
    if (gun_timer > 0) --gun_timer;
    over |= Breathe(points);
    return {.reward = static_cast<float>(points), .terminal = over};
  }

  constexpr void Observe(float* out) const {
    for (int i = 0; i < kSide * kSide * kChannels; ++i) out[i] = 0;
    out[Cell(row, column) + kSubFrontChannel] = 1;
    out[Cell(row, facing_right ? column - 1 : column + 1) + kSubBackChannel] = 1;
    for (int i = 0; i < bullets.count; ++i) {
      out[Cell(bullets.at[i].row, bullets.at[i].column) + kFriendlyBulletChannel] = 1;
    }
    for (int r = 1; r <= kLastRow; ++r) {
      for (unsigned bits = bullets_left[r] | bullets_right[r]; bits != 0; bits &= bits - 1) {
        out[Cell(r, std::countr_zero(bits)) + kEnemyBulletChannel] = 1;
      }
    }
    ShowSwimmers(fish, kFishChannel, out);
    ShowSwimmers(subs, kEnemySubChannel, out);
    ShowSwimmers(divers, kDiverChannel, out);
    float* gauges = out + Cell(kGaugeRow, 0);
    for (int i = 0; i < OxygenCells(); ++i) gauges[i * kChannels + kOxygenChannel] = 1;
    for (int i = kSide - 1 - divers_held; i < kSide - 1; ++i) {
      gauges[i * kChannels + kDiverGaugeChannel] = 1;
    }
  }

  // Lit cells of the gauge, 0-10; -1 lights none.
  constexpr int OxygenCells() const { return oxygen / kOxygenOfCell; }

  friend constexpr bool operator==(const MinatarSeaquest&, const MinatarSeaquest&) = default;

 private:
  static constexpr int Cell(int row, int column) { return (row * kSide + column) * kChannels; }

  // Negative columns are large unsigned numbers.
  static constexpr bool InGrid(int column) { return static_cast<unsigned>(column) < kSide; }

  template <class T>
  constexpr bool AtSub(const T& thing) const {
    return thing.column == column && thing.row == row;
  }

  template <int kMax>
  static constexpr void ShowSwimmers(const List<Swimmer, kMax>& list, int channel, float* out) {
    for (int i = 0; i < list.count; ++i) {
      const Swimmer& swimmer = list.at[i];
      out[Cell(swimmer.row, swimmer.column) + channel] = 1;
      const int behind = swimmer.column - swimmer.step;
      if (InGrid(behind)) out[Cell(swimmer.row, behind) + kTrailChannel] = 1;
    }
  }

  // The index of the oldest thing in a cell, or -1.
  template <class T, int kMax>
  static constexpr int Find(const List<T, kMax>& list, int row, int column) {
    for (int i = 0; i < list.count; ++i) {
      if (list.at[i].row == row && list.at[i].column == column) return i;
    }
    return -1;
  }

  static constexpr Swimmer Entering(bool from_left, int row, int wait) {
    return {.column = static_cast<std::int8_t>(from_left ? 0 : kSide - 1),
            .row = static_cast<std::int8_t>(row),
            .step = static_cast<std::int8_t>(from_left ? 1 : -1),
            .wait = static_cast<std::int8_t>(wait),
            .gun = 0};
  }

  static constexpr bool Opposes(const List<Swimmer, kMaxEnemies>& enemies, const Swimmer& other) {
    for (int i = 0; i < enemies.count; ++i) {
      if (enemies.at[i].row == other.row && enemies.at[i].step != other.step) return true;
    }
    return false;
  }

  template <Chance C>
  constexpr void SpawnEnemy(C& chance) {
    enemy_timer = enemy_interval;
    const bool from_left = chance.Uniform() < 0.5;
    const bool is_sub = chance.Uniform() < 1.0 / 3;
    Swimmer enemy = Entering(from_left, chance.Between(1, kLastRow + 1), swim_wait);
    if (Opposes(fish, enemy) || Opposes(subs, enemy)) return;
    if (is_sub) {
      enemy.gun = kEnemyCooldown;
      subs.Add(enemy);
    } else {
      fish.Add(enemy);
    }
  }

  template <Chance C>
  constexpr void SpawnDiver(C& chance) {
    diver_timer = kDiverInterval;
    const bool from_left = chance.Uniform() < 0.5;
    divers.Add(Entering(from_left, chance.Between(1, kLastRow + 1), kDiverWait));
  }

  constexpr void Act(int action) {
    if (action == kFire && gun_timer == 0) {
      bullets.Add({.column = static_cast<std::int8_t>(column),
                   .row = static_cast<std::int8_t>(row),
                   .step = static_cast<std::int8_t>(facing_right ? 1 : -1)});
      gun_timer = kCooldown;
    }
    if (action == kLeft || action == kRight) {
      facing_right = action == kRight;
      const int ahead = column + (facing_right ? 1 : -1);
      if (InGrid(ahead)) column = ahead;
    }
    if (action == kUp && row > 0) --row;
    if (action == kDown && row < kLastRow) ++row;
  }

  // Returns the points made.
  constexpr int MoveBullets() {
    int points = 0, kept = 0;
    for (int i = 0; i < bullets.count; ++i) {
      Bullet bullet = bullets.at[i];
      bullet.column = static_cast<std::int8_t>(bullet.column + bullet.step);
      if (!InGrid(bullet.column)) continue;
      if (HitOne(fish, bullet) || HitOne(subs, bullet)) {
        ++points;
      } else {
        bullets.at[kept++] = bullet;
      }
    }
    bullets.count = kept;
    return points;
  }

  static constexpr bool HitOne(List<Swimmer, kMaxEnemies>& enemies, const Bullet& bullet) {
    const int hit = Find(enemies, bullet.row, bullet.column);
    if (hit >= 0) enemies.RemoveAt(hit);
    return hit >= 0;
  }

  // Counts down, or moves a cell and returns true.
  static constexpr bool Swim(Swimmer& swimmer, int wait) {
    if (swimmer.wait > 0) {
      --swimmer.wait;
      return false;
    }
    swimmer.wait = static_cast<std::int8_t>(wait);
    swimmer.column = static_cast<std::int8_t>(swimmer.column + swimmer.step);
    return true;
  }

  constexpr void MoveDivers() {
    for (int i = divers.count - 1; i >= 0; --i) {
      Swimmer& diver = divers.at[i];
      const bool goes =
          PickUp(diver) || (Swim(diver, kDiverWait) && (!InGrid(diver.column) || PickUp(diver)));
      if (goes) divers.RemoveAt(i);
    }
  }

  constexpr bool PickUp(const Swimmer& diver) {
    if (!AtSub(diver) || divers_held >= kMaxDiversHeld) return false;
    ++divers_held;
    return true;
  }

  // Fish or enemy subs. Adds the points made, and returns whether one of them met the sub.
  constexpr bool MoveEnemies(List<Swimmer, kMaxEnemies>& enemies, bool armed, int& points) {
    bool met = false;
    int kept = 0;
    for (int i = 0; i < enemies.count; ++i) {
      Swimmer enemy = enemies.at[i];
      met |= AtSub(enemy);
      bool stays = true;
      if (Swim(enemy, swim_wait)) {
        met |= AtSub(enemy);
        const int struck = Find(bullets, enemy.row, enemy.column);
        if (struck >= 0) {
          bullets.RemoveAt(struck);
          ++points;
        }
        stays = struck < 0 && InGrid(enemy.column);
      }
      if (armed) Aim(enemy);
      if (stays) enemies.at[kept++] = enemy;
    }
    enemies.count = kept;
    return met;
  }

  constexpr void Aim(Swimmer& enemy) {
    if (enemy.gun > 0) {
      --enemy.gun;
      return;
    }
    enemy.gun = kEnemyCooldown;
    if (!InGrid(enemy.column)) return;  // it leaves in this step, and its bullet with it
    std::uint16_t& in_row = (enemy.step > 0 ? bullets_right : bullets_left)[enemy.row];
    in_row = static_cast<std::uint16_t>(in_row | 1u << enemy.column);
  }

  constexpr bool EnemyBulletAtSub() const {
    return ((bullets_left[row] | bullets_right[row]) >> column & 1) != 0;
  }

  // Returns whether one met the sub.
  constexpr bool MoveEnemyBullets() {
    const bool met = EnemyBulletAtSub();
    for (int r = 1; r <= kLastRow; ++r) {
      bullets_left[r] = static_cast<std::uint16_t>(bullets_left[r] >> 1);
      bullets_right[r] = static_cast<std::uint16_t>(bullets_right[r] << 1 & ((1u << kSide) - 1));
    }
    return met || EnemyBulletAtSub();
  }

  // Returns whether the episode ends here.
  constexpr bool Breathe(int& points) {
    const bool too_late = oxygen == 0;  // even at row 0
    if (row > 0) {
      surfaced = false;
      --oxygen;
    } else if (!surfaced) {
      if (divers_held == 0) return true;
      Surface(points);
    }
    return too_late;
  }

  constexpr void Surface(int& points) {
    surfaced = true;
    if (divers_held == kMaxDiversHeld) {
      points += OxygenCells();
      divers_held = 0;
    }
    --divers_held;
    oxygen = kFullOxygen;
    if (!ramping) return;
    ++ramps;
    if (enemy_interval > kLastEnemyInterval) --enemy_interval;
    if (swim_wait > kLastSwimWait && ramps % 2 == 0) --swim_wait;
  }
};

}  // namespace starling::envs
