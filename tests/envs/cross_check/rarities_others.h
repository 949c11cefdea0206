#pragma once

#include <bit>

#include "envs/minatar_asterix.h"
#include "envs/minatar_breakout.h"
#include "envs/minatar_freeway.h"
#include "envs/minatar_space_invaders.h"
#include "tests/envs/cross_check/rarities.h"

namespace starling::envs::cross_check {

template <>
struct Rarities<MinatarAsterix> {
  using G = MinatarAsterix;
  static constexpr std::size_t kDepth = 16;
  // The first nine: steps played at ramp 1 to 9.
  enum : std::size_t {
    kRamp, kAllFull = 9, kNoFreeRow, kLastFreeRow, kRowBeingLeft, kComesOnUs, kGoldWalkedTo,
    kGoldComes, kEnemyWalkedTo, kEnemyComes, kMoves1, kCount
  };
  static constexpr std::array<const char*, kCount> kNames = {
      "ramp 1", "ramp 2", "ramp 3", "ramp 4", "ramp 5", "ramp 6", "ramp 7", "ramp 8", "ramp 9",
      "all rows full", "an entry with no free row", "an entry into the last free row",
      "an entry while an entity leaves", "an entity enters on us", "we go to gold",
      "gold comes to us", "we go to an enemy", "an enemy comes to us", "a move on every step"};

  static std::uint64_t Seen(const G& before, const G& after, int, const Outcome& outcome) {
    Bits seen;
    const int ramp = G::kEntryPeriod - after.entry_period;
    if (ramp > 0) seen.Add(kRamp + static_cast<std::size_t>(ramp) - 1);
    const bool enters = before.entry_timer == 0, moves = before.move_timer == 0;
    seen.Add(kAllFull, after.present == 0xff);
    seen.Add(kNoFreeRow, enters && before.present == 0xff);
    seen.Add(kLastFreeRow, enters && std::popcount(before.present) == 7);
    seen.Add(kMoves1, after.move_period == 1);
    const int slot = after.player_row - G::kFirstRow;
    const bool here = (before.present >> slot & 1) != 0;
    const bool walked = here && before.columns[slot] == after.player_column;
    if (outcome.reward > 0) seen.Add(walked ? kGoldWalkedTo : kGoldComes);
    if (outcome.terminal) seen.Add(walked ? kEnemyWalkedTo : kEnemyComes);
    seen.Add(kComesOnUs, enters && !here && (outcome.reward > 0 || outcome.terminal));
    if (!enters || !moves) return seen.all();
    for (int i = 0; i < G::kRows; ++i) {
      const bool rightward = (before.rightward >> i & 1) != 0;
      seen.Add(kRowBeingLeft, (before.present >> i & 1) != 0 &&
                                  before.columns[i] == (rightward ? G::kSide - 1 : 0));
    }
    return seen.all();
  }

  static double Liking(const G&, const G& later, const Tastes& tastes) {
    return tastes[0] * later.player_row + tastes[1] * later.player_column - 0.3 * tastes[2] * later.player_row;
  }
};

template <>
struct Rarities<MinatarBreakout> {
  using G = MinatarBreakout;
  static constexpr std::size_t kDepth = 40;
  enum : std::size_t {
    kCleared, kWallBack, kLostAsWallComesBack, kStruckTwice, kDoubleTurn, kCornerSaved, kCornerLost,
    kBrickAtWall, kBrickFromAbove, kBrickFromTopAtOnce, kTopStruck, kCount
  };
  static constexpr std::array<const char*, kCount> kNames = {
      "the wall is cleared", "the wall comes back", "the ball is lost as the wall comes back",
      "a second brick is passed through", "turned back both ways", "saved in a corner",
      "lost in a corner", "a brick hit along a side wall", "a brick hit from above",
      "a brick in row 1 hit from row 0", "the top met while struck"};

  static std::uint64_t Seen(const G& before, const G& after, int, const Outcome& outcome) {
    Bits seen;
    const bool none = Left(before) == 0;
    const bool wall = before.ball_column + before.column_step < 0 ||
                      before.ball_column + before.column_step >= G::kSide;
    const bool low = before.ball_row + before.row_step == G::kPaddleRow;
    seen.Add(kCleared, !none && Left(after) == 0);
    seen.Add(kWallBack, none && Left(after) > 0);
    seen.Add(kLostAsWallComesBack, none && outcome.terminal);
    seen.Add(kStruckTwice, before.struck && after.struck && outcome.reward == 0);
    seen.Add(kDoubleTurn, low && !wall && !outcome.terminal && after.column_step != before.column_step);
    seen.Add(kCornerSaved, low && wall && !outcome.terminal);
    seen.Add(kCornerLost, low && wall && outcome.terminal);
    seen.Add(kBrickAtWall, wall && outcome.reward > 0);
    seen.Add(kBrickFromAbove, before.row_step > 0 && outcome.reward > 0);
    seen.Add(kBrickFromTopAtOnce, before.ball_row == 0 && outcome.reward > 0);
    seen.Add(kTopStruck, before.ball_row == 0 && before.row_step < 0 && before.struck);
    return seen.all();
  }

  static double Liking(const G&, const G& later, const Tastes& tastes) {
    return tastes[0] * later.paddle;
  }

 private:
  static int Left(const G& game) {
    int bricks = 0;
    for (const std::uint16_t row : game.bricks) bricks += std::popcount(row);
    return bricks;
  }
};

template <>
struct Rarities<MinatarFreeway> {
  using G = MinatarFreeway;
  static constexpr std::size_t kDepth = 24;
  enum : std::size_t {
    kArrived, kArrivedLast, kHit, kHitLast, kWentUnder, kStepsAwayInTime, kDownInLastRow,
    kSteppedOntoLeavingCar, kCount
  };
  static constexpr std::array<const char*, kCount> kNames = {
      "arrived", "arrived in the last step", "hit", "hit in the last step", "hit by going to a car",
      "stepped away from a car that comes", "down in row 9", "went to a car that drives on"};

  static std::uint64_t Seen(const G& before, const G& after, int action, const Outcome& outcome) {
    Bits seen;
    const bool arrived = outcome.reward > 0, last = outcome.terminal;
    const bool acts = before.chicken_timer == 0 && (action == G::kUp || action == G::kDown);
    const int went = before.chicken_row + (!acts ? 0 : action == G::kUp ? -1 : 1);
    const bool hit = !arrived && went < G::kStartRow && after.chicken_row == G::kStartRow;
    seen.Add(kArrived, arrived);
    seen.Add(kArrivedLast, arrived && last);
    seen.Add(kHit, hit);
    seen.Add(kHitLast, hit && last);
    const int car = went - G::kFirstCarRow;
    const bool under = hit && before.columns[car] == G::kChickenColumn;
    seen.Add(kWentUnder, under);
    seen.Add(kSteppedOntoLeavingCar, under && before.timers[car] == 0);
    seen.Add(kDownInLastRow, acts && before.chicken_row == G::kStartRow && action == G::kDown);
    const int was = before.chicken_row - G::kFirstCarRow;
    seen.Add(kStepsAwayInTime, acts && was < G::kCars && after.columns[was] == G::kChickenColumn);
    return seen.all();
  }

  static double Liking(const G&, const G& later, const Tastes& tastes) {
    return -tastes[0] * later.chicken_row;
  }
};

template <>
struct Rarities<MinatarSpaceInvaders> {
  using G = MinatarSpaceInvaders;
  static constexpr std::size_t kDepth = 30;
  // The first seven: steps played with base 12 to 6.
  enum : std::size_t {
    kBase, kClearedAtLast = 7, kCleared, kClearedInLastStep, kBulletsOverClear, kHitsOverClear,
    kClearedHeadingRight, kTwoHits, kHitAsGunFires, kPointsInLastStep, kDrop, kDropFromLastRow,
    kAlienComes, kDroveIntoAlien, kBulletEnds, kDroveUnderBullet, kEquallyNear, kBulletsPass,
    kSteppedIn, kCount
  };
  static constexpr std::array<const char*, kCount> kNames = {
      "base 12", "base 11", "base 10", "base 9", "base 8", "base 7", "base 6",
      "a wave cleared at base 6", "a wave cleared", "a wave cleared in the last step",
      "a wave cleared with bullets of theirs in the air", "a new wave comes onto a bullet of ours",
      "a wave cleared while heading right", "two hits in one step", "a hit as their gun fires",
      "points in the last step", "aliens drop", "aliens drop from row 9", "an alien comes to us",
      "we drive to an alien", "a bullet of theirs ends it", "we leave a cell as a bullet comes",
      "two columns equally near", "bullets pass each other", "an alien steps onto a bullet"};

  static std::uint64_t Seen(const G& before, const G& after, int, const Outcome& outcome) {
    Bits seen;
    seen.Add(kBase + static_cast<std::size_t>(G::kFirstBase - after.base));
    const int count = Count(before);
    const bool cleared = outcome.reward > 0 && Count(after) > count - static_cast<int>(outcome.reward);
    const bool moves = before.move_timer == 0;
    const unsigned here = 1u << after.cannon;
    seen.Add(kCleared, cleared);
    seen.Add(kClearedAtLast, cleared && before.base == G::kLastBase);
    seen.Add(kClearedInLastStep, cleared && outcome.terminal);
    seen.Add(kClearedHeadingRight, cleared && after.heading > 0);
    seen.Add(kTwoHits, outcome.reward > 1);
    seen.Add(kHitAsGunFires, outcome.reward > 0 && before.enemy_gun_timer == 0);
    seen.Add(kPointsInLastStep, outcome.terminal && outcome.reward > 0);
    seen.Add(kDrop, after.heading != before.heading);
    seen.Add(kDropFromLastRow, after.heading != before.heading && before.aliens[9] != 0);
    seen.Add(kDroveIntoAlien, (before.aliens[9] & here) != 0);
    seen.Add(kAlienComes, moves && (before.aliens[9] & here) == 0 && (after.aliens[9] & here) != 0);
    seen.Add(kBulletEnds, (before.enemy_bullets[8] & here) != 0);
    seen.Add(kDroveUnderBullet, (before.enemy_bullets[8] & 1u << before.cannon) != 0 &&
                                    before.cannon != after.cannon);
    seen.Add(kEquallyNear, before.enemy_gun_timer == 0 && EquallyNear(before, after.cannon));
    bool flying = false, over = false, pass = false;
    for (int row = 0; row < G::kSide; ++row) {
      flying |= after.enemy_bullets[row] != 0;
      over |= (after.aliens[row] & after.bullets[row]) != 0;
      pass |= row > 0 && ((before.bullets[row] & (before.enemy_bullets[row - 1] | before.enemy_bullets[row])) != 0);
    }
    seen.Add(kBulletsOverClear, cleared && flying);
    seen.Add(kHitsOverClear, cleared && over);
    seen.Add(kBulletsPass, pass);
    seen.Add(kSteppedIn, moves && outcome.reward > 0);
    return seen.all();
  }

  // Tastes: to leave few aliens; to let them come down.
  static double Liking(const G&, const G& later, const Tastes& tastes) {
    int lowest = 0;
    for (int row = 0; row < G::kSide; ++row) {
      if (later.aliens[row] != 0) lowest = row;
    }
    return (tastes[0] < 0.7 ? -1 : 1) * (0.1 * Count(later) + 0.3 * lowest);
  }

 private:
  static int Count(const G& game) {
    int count = 0;
    for (const G::Row row : game.aliens) count += std::popcount(row);
    return count;
  }

  static bool EquallyNear(const G& game, int cannon) {
    unsigned columns = 0;
    for (const G::Row row : game.aliens) columns |= row;
    for (int distance = 1; distance < G::kSide; ++distance) {
      const bool left = cannon >= distance && (columns >> (cannon - distance) & 1) != 0;
      const bool right = (columns >> (cannon + distance) & 1) != 0;
      if (left || right || (columns >> cannon & 1) != 0) return left && right && (columns >> cannon & 1) == 0;
    }
    return false;
  }
};

}  // namespace starling::envs::cross_check
