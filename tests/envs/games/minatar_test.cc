// The rules of MinAtar's games that recorded play does not reach, each from a position set up by
// hand, and the bounds of what a game holds. trace_test.cc holds all other rules to recorded play.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/random.h"
#include "envs/games/minatar_asterix.h"
#include "envs/games/minatar_breakout.h"
#include "envs/games/minatar_freeway.h"
#include "envs/games/minatar_seaquest.h"
#include "envs/games/minatar_space_invaders.h"

namespace starling::envs::minatar_test {
namespace {

// A step that draws exactly `draws`.
template <class G>
Outcome Play(G& game, int action = G::kNoop, const std::vector<Draw>& draws = {}) {
  ScriptedChance chance(draws);
  const Outcome outcome = game.Step(action, chance);
  EXPECT_EQ(chance.Mismatch(), "");
  return outcome;
}

TEST(MinatarAsterix, WithNoFreeRowSideAndKindAreDrawnAndNothingEnters) {
  MinatarAsterix game;
  game.present = 0xff;  // an enemy in each of the eight rows
  std::ranges::fill(game.columns, 2);
  game.entry_timer = 0;
  MinatarAsterix later = game;
  later.entry_timer = 9;
  --later.move_timer;
  --later.ramp_timer;
  EXPECT_EQ(Play(game, MinatarAsterix::kNoop, {Draw::Uniform(0.2), Draw::Uniform(0.2)}), Outcome{});
  EXPECT_EQ(game, later);
}

// Every entity enters from the left and is gold. Counts the draws of reals.
struct Generous {
  int reals = 0;
  double Uniform() { return static_cast<double>(++reals) * 0; }
  int Below(int) { return 0; }
  int Between(int low, int) { return low; }
};

struct Schedule {
  std::vector<int> entries, moves;  // steps, from 1
  friend bool operator==(const Schedule&, const Schedule&) = default;
};

// The steps in which entities enter and move. Row 8 always holds gold in column 5, which shows the
// moves; the player stays in row 7, where gold ends nothing.
Schedule Watch(bool ramping, int steps) {
  constexpr int kShown = 7;  // the slot of row 8
  MinatarAsterix game;
  game.ramping = ramping;
  game.player_row = 7;
  Schedule schedule;
  Generous chance;
  for (int step = 1; step <= steps; ++step) {
    for (std::uint8_t* set : {&game.present, &game.gold, &game.rightward}) {
      *set = static_cast<std::uint8_t>(*set | 1u << kShown);
    }
    game.columns[kShown] = 5;
    const int reals = chance.reals;
    EXPECT_FALSE(game.Step(MinatarAsterix::kNoop, chance).terminal);
    if (chance.reals == reals + 2) schedule.entries.push_back(step);
    if (game.columns[kShown] == 6) schedule.moves.push_back(step);
  }
  return schedule;
}

// The ramps of steps 102, 204, … before t precede an event in step t; each takes a step off the
// wait for the next entry, every second one a step off the wait for the next move.
TEST(MinatarAsterix, RampsHurryEntriesEveryTimeAndMovesEveryOtherTime) {
  for (const bool ramping : {true, false}) {
    Schedule expected;
    const auto ramps_before = [&](int t) { return ramping ? (t - 1) / 102 : 0; };
    for (int t = 11; t <= 1500; t += std::max(1, 10 - ramps_before(t))) {
      expected.entries.push_back(t);
    }
    for (int t = 6; t <= 1500; t += std::max(1, 5 - ramps_before(t) / 2)) {
      expected.moves.push_back(t);
    }
    EXPECT_EQ(Watch(ramping, 1500), expected) << ramping;
  }
}

TEST(MinatarBreakout, AWallWithOneBrickLeftDoesNotComeBack) {
  for (int row = 0; row < MinatarBreakout::kBrickRows; ++row) {
    MinatarBreakout game;
    game.ball_row = 8;  // above the paddle, heading down
    game.ball_column = 4;
    std::ranges::fill(game.bricks, std::uint16_t{0});
    game.bricks[row] = 1;
    Play(game);
    EXPECT_EQ(game.bricks[0] + game.bricks[1] + game.bricks[2], 1) << row;
  }
}

TEST(MinatarFreeway, AnArrivalInTheLastStepIsPaid) {
  MinatarFreeway game;
  game.steps_left = game.chicken_row = 1;
  game.chicken_timer = 0;
  std::vector<Draw> cars(8, Draw::Integer(1, 6, 1));
  cars.insert(cars.end(), 8, Draw::Uniform(0.5));
  EXPECT_EQ(Play(game, MinatarFreeway::kUp, cars), (Outcome{1, true}));
}

using Seaquest = MinatarSeaquest;

// The sub below the surface, facing left; no enemy and no diver enters for a thousand steps.
Seaquest Diving(int row, int column, int divers_held) {
  Seaquest game;
  game.surfaced = false;
  game.column = column;
  game.row = row;
  game.divers_held = divers_held;
  game.enemy_timer = game.diver_timer = 1000;
  return game;
}

TEST(MinatarSeaquest, ASeventhDiverStaysInTheWater) {
  for (const int held : {5, 6}) {
    Seaquest game = Diving(4, 5, held);
    game.divers.Add({.column = 5, .row = 4, .step = 1, .wait = 100, .gun = 0});
    Play(game);
    EXPECT_EQ(game.divers_held, 6);
    EXPECT_EQ(game.divers.count, held - 5);
  }
}

// The sub goes from column 5 to 4, a bullet from there to 3.
TEST(MinatarSeaquest, AnEnemyBulletMeetsTheSubBeforeItFliesOn) {
  Seaquest game = Diving(4, 5, 1);
  game.bullets_left[4] = 1 << 4;
  EXPECT_EQ(Play(game, Seaquest::kLeft), (Outcome{0, true}));
}

TEST(MinatarSeaquest, EverySurfacingRampsDownToTheLimits) {
  for (const bool ramping : {true, false}) {
    Seaquest game = Diving(1, 5, -1);  // surfacing is free
    game.ramping = ramping;
    for (int surfacings = 1; surfacings <= 40; ++surfacings) {
      Play(game, Seaquest::kUp);
      Play(game, Seaquest::kDown);
      EXPECT_EQ(game.enemy_interval, ramping ? std::max(1, 20 - surfacings) : 20);
      EXPECT_EQ(game.swim_wait, ramping ? std::max(2, 5 - surfacings / 2) : 5) << surfacings;
    }
  }
}

// The slowest enemies and the shortest interval, which play cannot reach together: 59 are there
// after a step, and the sixtieth enters before the oldest leaves.
TEST(MinatarSeaquest, EnemiesFitIntoTheirListsAtAnyRamp) {
  for (const double kind : {0.1, 0.9}) {
    Seaquest game;
    game.enemy_interval = 1;
    game.enemy_timer = 0;
    game.diver_timer = 100000;
    int most = 0;
    for (int step = 0; step < 500; ++step) {
      Play(game, Seaquest::kNoop, {Draw::Uniform(0), Draw::Uniform(kind), Draw::Integer(1, 9, 3)});
      most = std::max({most, game.fish.count, game.subs.count});
    }
    EXPECT_EQ(most + 1, Seaquest::kMaxEnemies);
  }
}

// Random play that survives nearly everything, at every ramp: nothing outgrows its bounds.
TEST(MinatarSeaquest, NothingOutgrowsItsBounds) {
  RandomStream stream({.seed = 3});
  RandomChance chance(stream);
  Seaquest game;
  int most_divers = 0, most_bullets = 0, most_enemies = 0;
  for (int step = 0; step < 40000; ++step) {
    const int action = static_cast<int>(stream.Below(8));
    game.Step(action < 6 ? action : Seaquest::kFire, chance);
    if (game.divers_held == 0) game.divers_held = 1;
    game.oxygen = std::max(game.oxygen, 10);
    if (step % 5000 == 0) game.Reset(chance);
    most_divers = std::max(most_divers, game.divers.count);
    most_bullets = std::max(most_bullets, game.bullets.count);
    most_enemies = std::max(most_enemies, game.fish.count + game.subs.count);
    const int back = game.facing_right ? game.column - 1 : game.column + 1;
    for (const int column : {game.column, back}) ASSERT_TRUE(column >= 0 && column < 10);
    ASSERT_TRUE(game.row >= 0 && game.row <= 8);
    float seen[1000];
    game.Observe(seen);
    for (const float value : seen) ASSERT_TRUE(value == 0 || value == 1);
  }
  EXPECT_EQ(most_divers, Seaquest::kMaxDivers);
  EXPECT_EQ(most_bullets, Seaquest::kMaxBullets);
  EXPECT_GE(most_enemies, 20);
  EXPECT_LE(most_enemies, Seaquest::kMaxEnemies);
}

// The last alien of a wave stands before a bullet of ours.
MinatarSpaceInvaders BeforeTheLastHit(int base) {
  MinatarSpaceInvaders game;
  game.base = base;
  game.move_timer = 1;
  std::ranges::fill(game.aliens, std::uint16_t{0});
  game.aliens[5] = game.bullets[6] = 1 << 1;
  return game;
}

TEST(MinatarSpaceInvaders, EveryWaveMovesSoonerDownToSix) {
  int base = 12;
  for (const int expected : {11, 10, 9, 8, 7, 6, 6, 6}) {
    MinatarSpaceInvaders game = BeforeTheLastHit(base), unramped = game;
    unramped.ramping = false;
    EXPECT_EQ(Play(unramped), (Outcome{1, false}));
    EXPECT_EQ(unramped.base, base);
    EXPECT_EQ(Play(game), (Outcome{1, false}));
    EXPECT_EQ(base = game.base, expected);
    Play(game);  // 24 of them move for the first time, min(24, base) steps before the second
    EXPECT_EQ(game.move_timer, expected - 1);
  }
}

}  // namespace
}  // namespace starling::envs::minatar_test
