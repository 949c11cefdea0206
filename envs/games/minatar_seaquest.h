// "minatar/seaquest": a submarine fights, gathers divers and must surface for air, on a 10 x 10
// grid.
//
// Written from a description of the rules and tested against recorded play of the MinAtar package,
// step by step (envs/trace.h). Channels: sub_front, sub_back, friendly_bullet, trail (the cell
// behind every enemy and diver), enemy_bullet, enemy_fish, enemy_sub, oxygen gauge, diver gauge,
// diver. All six actions have an effect. Reward 1 for an enemy shot, and the bonus of a rescue.
//
// The sub (its front is its position) lives in rows 0-8. Row 0 is the surface; fish, enemy subs and
// divers stay in rows 1-8; row 9 shows the gauges. One step, in this order:
//   enemy        enters after the first 20 steps and then every 20. Three draws: the side (a real
//                below 1/2: the left), the kind (a real below 1/3: a sub) and the row, in [1, 9).
//                It does not enter if any enemy in that row swims the other way; the draws are made
//                all the same.
//   diver        enters every 30 steps: side and row, drawn likewise. Divers ignore everything.
//   sub          moves, facing left or right as it last moved there, or fires if its last shot is
//                at least 5 steps old.
//   our bullets  move one cell, also a new one, and leave at the edges. A bullet that reaches an
//                enemy removes it and itself, +1.
//   divers       are picked up where they touch the sub, before and after they swim, while we hold
//                fewer than six. The youngest is first.
//   enemy subs   touch: the end. They swim: into us, the end; into a bullet of ours: both are
//                removed, +1. Then the gun: a bullet starts at their position.
//   enemy        touch: the end. They move one cell, also a new one: into us, the end.
//   bullets
//   fish         as enemy subs, without a gun.
//   oxygen       if none of the 200 was left, the end. Below row 0 one is used. Reaching row 0 with
//                no diver: the end. With any other number we surface.
// Swimmers move when a count of 5 is down to 0, which is every sixth step: the step at 0 moves and
// sets the count, and does not count down. An enemy's count is set to `swim_wait`, which ramps; the
// guns' count is 10, a shot every eleventh step. Spawn counts and our own gun are exact.
//
// Surfacing: with exactly six divers, one point for every lit cell of the gauge, and the count is
// cleared. Then, always, one diver is lost and oxygen is full. The ramp: the spawn interval is one
// shorter, down to 1, and at every second surfacing swim_wait by one, 5 down to 2. Counts that are
// under way run out first. Without `ramping` neither changes.
//
// Easy to get wrong:
//   - After a rescue the count is -1. It is not 0, so surfacing again is free (and makes it -2),
//     the gauge shows nothing, and the next rescue needs seven divers more; back at 0 it is deadly.
//   - A cell of the gauge stands for 20: 199 lights nine cells, 19 none. A rescue pays 9 at most.
//   - The last step is complete: everything moves, and hits are rewarded.
//   - A friendly and an enemy bullet pass each other. Enemies and enemy bullets never pass through
//     the sub, since they check for it before they move as well.
//
// Absent from recordings, but true of the package (scripts/cross-check-minatar):
//   - If several enemies are in the cell of one bullet, it takes one, fish before subs, the older
//     first.
//   - An enemy sub that is shot in the step of its gun still fires, as does one that swims into us.
//   - Divers are checked from the youngest to the oldest: of two at the sub, the younger is the
//     sixth. A seventh stays where it is.
//   - Surfacing with oxygen down to 0 is too late: everything happens, and the episode ends.
// Two enemies never swim onto one bullet in the same step: all in a row swim one way, and a later
// one never catches up.
#pragma once

#include <array>
#include <cstdint>

#include "envs/chance.h"
#include "envs/game.h"
#include "envs/games/minatar_sea.h"

namespace starling::envs {

struct MinatarSeaquest : MinatarSea {
  static constexpr std::array<int, 6> kMinimalActions = {kNoop, kLeft, kUp, kRight, kDown, kFire};
  static constexpr int kSubFrontChannel = 0, kSubBackChannel = 1, kFriendlyBulletChannel = 2;
  static constexpr int kTrailChannel = 3, kEnemyBulletChannel = 4, kFishChannel = 5;
  static constexpr int kEnemySubChannel = 6, kOxygenChannel = 7, kDiverGaugeChannel = 8;
  static constexpr int kDiverChannel = 9;
  static constexpr int kGaugeRow = 9;
  static constexpr int kFullOxygen = 200, kOxygenOfCell = kFullOxygen / kSide;
  static constexpr int kCooldown = 5;
  static constexpr int kDiverInterval = 30, kDiverWait = kLongestWait, kMaxDiversHeld = 6;
  static constexpr int kFirstEnemyInterval = 20, kLastEnemyInterval = 1;
  static constexpr int kFirstSwimWait = kLongestWait, kLastSwimWait = 2;

  bool ramping = true;  // an option: survives a reset

  bool surfaced = true;  // row 0 has no effect until the sub has been below it
  bool facing_right = false;
  // The sub's front. Its back is always in the grid: a sub that faces right has moved there, and at
  // column 9 it cannot face left.
  int column = 5, row = 0;
  int oxygen = kFullOxygen;  // -1 after death by lack of it
  int divers_held = 0;       // may be negative
  int gun_timer = 0;         // steps until we may fire
  int enemy_timer = kFirstEnemyInterval, diver_timer = kDiverInterval;  // steps until one enters
  int enemy_interval = kFirstEnemyInterval, swim_wait = kFirstSwimWait;
  int ramps = 0;
  // One word for each row; bit c is column c. Two enemy bullets in a cell count as one.
  std::uint16_t bullets_left[kLastRow + 1] = {}, bullets_right[kLastRow + 1] = {};
  List<Bullet, kMaxBullets> bullets;  // ours
  List<Swimmer, kMaxDivers> divers;
  Enemies fish, subs;

  static EnvSpec Spec() { return SpecOf("seaquest"); }

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
    Clear(out);
    // 1. Things in the water.
    out[Cell(row, column) + kSubFrontChannel] = 1;
    out[Cell(row, facing_right ? column - 1 : column + 1) + kSubBackChannel] = 1;
    for (int i = 0; i < bullets.count; ++i) {
      out[Cell(bullets.at[i].row, bullets.at[i].column) + kFriendlyBulletChannel] = 1;
    }
    for (int r = 1; r <= kLastRow; ++r) {
      Light(r, bullets_left[r] | bullets_right[r], kEnemyBulletChannel, out);
    }
    Show(fish, kFishChannel, kTrailChannel, out);
    Show(subs, kEnemySubChannel, kTrailChannel, out);
    Show(divers, kDiverChannel, kTrailChannel, out);
    // 2. The gauges: oxygen from the left, divers from the right.
    Light(kGaugeRow, (1u << OxygenCells()) - 1, kOxygenChannel, out);
    for (int i = kSide - 1 - divers_held; i < kSide - 1; ++i) {
      out[Cell(kGaugeRow, i) + kDiverGaugeChannel] = 1;
    }
  }

  // Lit cells of the gauge, 0-10.
  constexpr int OxygenCells() const { return oxygen / kOxygenOfCell; }

  template <class State>
  constexpr void Fields(State& state) {
    constexpr int kMany = 1'000'000'000;  // of a number without a bound
    constexpr std::uint16_t kFullRow = (1u << kSide) - 1;
    state(surfaced);
    state(facing_right);
    state(column, facing_right ? 1 : 0, facing_right ? kSide - 1 : kSide - 2);
    state(row, 0, kLastRow);
    state(oxygen, 0, kFullOxygen);
    state(divers_held, -kMany, kMaxDiversHeld);
    state(gun_timer, 0, kCooldown);
    state(enemy_timer, 0, kFirstEnemyInterval);
    state(diver_timer, 0, kDiverInterval);
    state(enemy_interval, kLastEnemyInterval, kFirstEnemyInterval);
    state(swim_wait, kLastSwimWait, kFirstSwimWait);
    state(ramps, 0, kMany);
    state(bullets_left, 0, kFullRow);
    state(bullets_right, 0, kFullRow);
    state(bullets);
    state(divers);
    state(fish);
    state(subs);
  }

  friend constexpr bool operator==(const MinatarSeaquest&, const MinatarSeaquest&) = default;

 private:
  template <class T>
  constexpr bool AtSub(const T& thing) const {
    return thing.column == column && thing.row == row;
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
      bullets.Add(
          {.column = Small(column), .row = Small(row), .step = Small(facing_right ? 1 : -1)});
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
      bullet.column = Small(bullet.column + bullet.step);
      if (!InGrid(bullet.column)) continue;
      if (fish.RemoveFrom(bullet.row, bullet.column) ||
          subs.RemoveFrom(bullet.row, bullet.column)) {
        ++points;
      } else {
        bullets.at[kept++] = bullet;
      }
    }
    bullets.count = kept;
    return points;
  }

  constexpr void MoveDivers() {
    for (int i = divers.count - 1; i >= 0; --i) {
      Swimmer& diver = divers.at[i];
      const bool goes =
          PickUp(diver) || (diver.Swim(kDiverWait) && (!InGrid(diver.column) || PickUp(diver)));
      if (goes) divers.RemoveAt(i);
    }
  }

  constexpr bool PickUp(const Swimmer& diver) {
    if (!AtSub(diver) || divers_held >= kMaxDiversHeld) return false;
    ++divers_held;
    return true;
  }

  // Moves fish or enemy subs. Adds the points made; returns whether one of them touched the sub.
  constexpr bool MoveEnemies(Enemies& enemies, bool armed, int& points) {
    bool met = false;
    int kept = 0;
    for (int i = 0; i < enemies.count; ++i) {
      Swimmer enemy = enemies.at[i];
      met |= AtSub(enemy);  // before its move, and after it
      bool stays = true;
      if (enemy.Swim(swim_wait)) {
        met |= AtSub(enemy);
        const bool struck = bullets.RemoveFrom(enemy.row, enemy.column);
        points += struck ? 1 : 0;
        stays = !struck && InGrid(enemy.column);
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
    if (!InGrid(enemy.column)) return;  // its bullet leaves with it in this step
    std::uint16_t& in_row = (enemy.step > 0 ? bullets_right : bullets_left)[enemy.row];
    in_row = static_cast<std::uint16_t>(in_row | 1u << enemy.column);
  }

  constexpr bool EnemyBulletAtSub() const {
    return ((bullets_left[row] | bullets_right[row]) >> column & 1) != 0;
  }

  // Returns whether one touched the sub.
  constexpr bool MoveEnemyBullets() {
    const bool met = EnemyBulletAtSub();
    for (int r = 1; r <= kLastRow; ++r) {
      bullets_left[r] >>= 1;
      bullets_right[r] = bullets_right[r] << 1 & ((1 << kSide) - 1);
    }
    return met || EnemyBulletAtSub();
  }

  // Returns whether the episode ends.
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
