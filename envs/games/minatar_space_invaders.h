// "minatar/space_invaders": a cannon under four rows of six marching aliens, on a 10 x 10 grid.
//
// Written from a description of the rules and tested against recorded play of the MinAtar package,
// step by step (envs/trace.h). Channels: cannon, alien, alien_left and alien_right (the aliens
// again, by direction), friendly_bullet, enemy_bullet. Six actions, of which left, right and fire
// have an effect. Reward 1 for an alien. The game draws nothing: it depends on the actions alone.
//
// One step, in this order:
//   cannon         moves, or fires if its last shot is at least 5 steps old.
//   bullets        all move one cell, ours up and theirs down. A new one of ours starts in the
//                  cannon's row, so it is first seen in row 8. An enemy bullet that reaches the
//                  cannon ends the episode.
//   aliens         every min(number of aliens, base) steps all move one cell. If one is at the edge
//                  ahead, they drop a row and turn instead. An alien in the cannon's cell ends the
//                  episode, before its move (the cannon drove into it) or after it; so does a drop
//                  with an alien in row 9.
//   their gun      every 10 steps the lowest alien of the column nearest to the cannon (of two
//                  equally near, the left one) puts a bullet into its own cell. The bullet moves
//                  from the next step on.
//   hits           each alien in a cell with a bullet of ours is removed, with the bullet, +1.
//   new wave       if no alien is left, this very picture shows 24 new ones.
//
// The ramp: base is 12 in the first wave, one less in each that follows, and 6 from the seventh on.
// Without `ramping` it stays 12.
//
// Easy to get wrong:
//   - Hits are checked once, after bullets and aliens have moved: an alien that steps aside as the
//     bullet arrives survives, an alien that steps into the bullet's new cell does not.
//   - An alien that is hit in the step of their gun still fires.
//   - Bullets pass through each other. An enemy bullet hits only by moving to the cannon: the
//     cannon may drive into a cell that a bullet leaves in the same step.
//   - A new wave changes nothing else: direction, both timers and the bullets in the air stay. The
//     new base takes effect at the wave's first move.
//   - Aliens that drop from row 9 are seen in row 0 in the last picture.
//   - The last step of an episode is complete: the aliens move, and hits are rewarded.
//   - Two hits in one step happen only in an episode's last, as aliens drop from row 9 to row 0.
//     Bullets are at least five rows apart, the rows of a wave at most four.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "envs/chance.h"
#include "envs/game.h"
#include "envs/games/minatar_grid.h"

namespace starling::envs {

struct MinatarSpaceInvaders : MinatarGrid<6> {
  static constexpr std::array<int, 4> kMinimalActions = {kNoop, kLeft, kRight, kFire};
  static constexpr int kCannonChannel = 0, kAlienChannel = 1;
  static constexpr int kAlienLeftChannel = 2, kAlienRightChannel = 3;
  static constexpr int kFriendlyBulletChannel = 4, kEnemyBulletChannel = 5;
  static constexpr int kCannonRow = 9;
  static constexpr int kCooldown = 5, kEnemyCooldown = 10;
  static constexpr int kFirstBase = 12, kLastBase = 6;

  // A row of the grid; bit c is column c.
  using Row = std::uint16_t;
  static constexpr Row kFullRow = (1u << kSide) - 1;
  static constexpr Row kWaveRow = 0b0011111100;
  static constexpr int kWaveRows = 4;

  bool ramping = true;  // an option: survives a reset

  Row aliens[kSide] = {kWaveRow, kWaveRow, kWaveRow, kWaveRow};
  Row bullets[kSide] = {};        // ours
  Row enemy_bullets[kSide] = {};  // theirs
  int cannon = 5;                 // column
  int heading = -1;               // of the aliens: -1 left, +1 right
  int base = kFirstBase;          // steps between two moves of many aliens
  // Steps until the aliens move, until they fire, and until we may fire.
  int move_timer = kFirstBase, enemy_gun_timer = kEnemyCooldown, gun_timer = 0;

  static EnvSpec Spec() { return SpecOf("space_invaders"); }

  template <Chance C>
  constexpr void Reset(C&) {
    const bool keep = ramping;
    *this = {};
    ramping = keep;
  }

  template <Chance C>
  constexpr Outcome Step(int action, C&) {
    Act(action);
    Outcome outcome;
    outcome.terminal = MoveBullets();
    outcome.terminal |= AlienAtCannon();
    if (move_timer == 0) outcome.terminal |= MoveAliens();
    if (enemy_gun_timer == 0) FireEnemyGun();
    const int hits = RemoveHits();
    outcome.reward = static_cast<float>(hits);
    if (gun_timer > 0) --gun_timer;
    --move_timer;
    --enemy_gun_timer;
    if (hits > 0 && AlienColumns() == 0) StartNextWave();
    return outcome;
  }

  constexpr void Observe(float* out) const {
    Clear(out);
    out[Cell(kCannonRow, cannon) + kCannonChannel] = 1;
    const int marching = heading < 0 ? kAlienLeftChannel : kAlienRightChannel;
    for (int row = 0; row < kSide; ++row) {
      Light(row, aliens[row], kAlienChannel, out);
      Light(row, aliens[row], marching, out);
      Light(row, bullets[row], kFriendlyBulletChannel, out);
      Light(row, enemy_bullets[row], kEnemyBulletChannel, out);
    }
  }

  template <class State>
  constexpr void Fields(State& state) {
    state(aliens, 0, kFullRow);
    state(bullets, 0, kFullRow);
    state(enemy_bullets, 0, kFullRow);
    state(cannon, 0, kSide - 1);
    state(heading, -1, 1);
    state(base, kLastBase, kFirstBase);
    state(move_timer, 0, kFirstBase);
    state(enemy_gun_timer, 0, kEnemyCooldown);
    state(gun_timer, 0, kCooldown);
  }

  friend constexpr bool operator==(const MinatarSpaceInvaders&,
                                   const MinatarSpaceInvaders&) = default;

 private:
  static constexpr Row Bit(int column) { return static_cast<Row>(1u << column); }

  constexpr Row AlienColumns() const {
    Row columns = 0;
    for (const Row row : aliens) columns |= row;
    return columns;
  }

  constexpr bool AlienAtCannon() const { return (aliens[kCannonRow] & Bit(cannon)) != 0; }

  constexpr void Act(int action) {
    if (action == kFire && gun_timer == 0) {
      bullets[kCannonRow] |= Bit(cannon);
      gun_timer = kCooldown;
    }
    if (action == kLeft && cannon > 0) --cannon;
    if (action == kRight && cannon < kSide - 1) ++cannon;
  }

  // Returns true if an enemy bullet reaches the cannon. Bullets leave the grid after its last row.
  constexpr bool MoveBullets() {
    for (int row = 0; row < kSide - 1; ++row) bullets[row] = bullets[row + 1];
    bullets[kSide - 1] = 0;
    for (int row = kSide - 1; row > 0; --row) enemy_bullets[row] = enemy_bullets[row - 1];
    enemy_bullets[0] = 0;
    return (enemy_bullets[kCannonRow] & Bit(cannon)) != 0;
  }

  // Returns true if the episode ends by it.
  constexpr bool MoveAliens() {
    int count = 0;
    for (const Row row : aliens) count += std::popcount(row);
    move_timer = count < base ? count : base;
    const bool at_edge = (AlienColumns() & (heading < 0 ? Bit(0) : Bit(kSide - 1))) != 0;
    const bool dropped_out = at_edge && DropAliens();
    if (!at_edge) {
      for (Row& row : aliens) row = static_cast<Row>(heading < 0 ? row >> 1 : row << 1);
    }
    return dropped_out || AlienAtCannon();
  }

  // Returns true if an alien drops from the last row; it wraps to the first.
  constexpr bool DropAliens() {
    heading = -heading;
    const Row last = aliens[kSide - 1];
    for (int row = kSide - 1; row > 0; --row) aliens[row] = aliens[row - 1];
    aliens[0] = last;
    return last != 0;
  }

  // REQUIRES: there is an alien. (A new wave follows a cleared one in the same step.)
  constexpr void FireEnemyGun() {
    enemy_gun_timer = kEnemyCooldown;
    const int column = NearestAlienColumn();
    int row = kSide - 1;
    while (row > 0 && (aliens[row] & Bit(column)) == 0) --row;
    enemy_bullets[row] |= Bit(column);
  }

  constexpr int NearestAlienColumn() const {
    const unsigned columns = AlienColumns();
    for (int distance = 0; distance < kSide; ++distance) {
      const int left = cannon - distance, right = cannon + distance;
      if (left >= 0 && (columns >> left & 1)) return left;
      if (right < kSide && (columns >> right & 1)) return right;
    }
    return cannon;
  }

  constexpr int RemoveHits() {
    int hits = 0;
    for (int row = 0; row < kSide; ++row) {
      const Row hit = aliens[row] & bullets[row];
      if (hit == 0) continue;
      hits += std::popcount(hit);
      aliens[row] ^= hit;
      bullets[row] ^= hit;
    }
    return hits;
  }

  constexpr void StartNextWave() {
    if (ramping && base > kLastBase) --base;
    for (int row = 0; row < kWaveRows; ++row) aliens[row] = kWaveRow;
  }
};

}  // namespace starling::envs
