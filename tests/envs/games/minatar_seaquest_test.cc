// Meetings as tables; air and rescues; the ends of the ramp. Positions are set up by hand.
// trace_test.cc holds the rules, and those of divers and entries, to recorded play.
#include "envs/games/minatar_seaquest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "core/random.h"

namespace starling::envs::minatar_seaquest_test {
namespace {

using Game = MinatarSeaquest;
using Swimmer = Game::Swimmer;
using Draws = std::vector<Draw>;
using Cells = std::vector<std::pair<int, int>>;  // (row, column), in order

constexpr int kLeftward = -1, kRightward = 1;
constexpr int kNever = 100;  // steps: longer than any of these tests

Swimmer At(int row, int column, int step, int wait = kNever, int gun = kNever) {
  return {.column = static_cast<std::int8_t>(column),
          .row = static_cast<std::int8_t>(row),
          .step = static_cast<std::int8_t>(step),
          .wait = static_cast<std::int8_t>(wait),
          .gun = static_cast<std::int8_t>(gun)};
}

// The sub below the surface, facing left; no enemy and no diver enters for a thousand steps.
Game Diving(int row, int column, int divers_held = 1) {
  Game game;
  game.row = row;
  game.column = column;
  game.surfaced = false;
  game.divers_held = divers_held;
  game.enemy_timer = game.diver_timer = 1000;
  return game;
}

Outcome Play(Game& game, int action = Game::kNoop, const Draws& draws = {}) {
  ScriptedChance chance(draws);
  const Outcome outcome = game.Step(action, chance);
  EXPECT_EQ(chance.Mismatch(), "");
  return outcome;
}

std::vector<float> Seen(const Game& game) {
  std::vector<float> seen(1000, -1);
  game.Observe(seen.data());
  return seen;
}

// The lit cells of a channel.
Cells Lit(const Game& game, int channel) {
  const std::vector<float> seen = Seen(game);
  Cells lit;
  for (int cell = 0; cell < 100; ++cell) {
    if (seen[static_cast<std::size_t>(cell * 10 + channel)] == 1) {
      lit.emplace_back(cell / 10, cell % 10);
    }
  }
  return lit;
}

TEST(MinatarSeaquest, StartsAtTheSurfaceWithFullOxygen) {
  Game game = Diving(5, 5);
  game.fish.Add(At(3, 3, kLeftward));
  game.bullets_left[4] = 1;
  game.enemy_interval = 3;
  ScriptedChance none({});
  game.Reset(none);
  EXPECT_EQ(none.Mismatch(), "");
  EXPECT_EQ(game, Game{});
  EXPECT_EQ(Lit(game, Game::kSubFrontChannel), (Cells{{0, 5}}));
  EXPECT_EQ(Lit(game, Game::kSubBackChannel), (Cells{{0, 6}}));
  EXPECT_EQ(Lit(game, Game::kOxygenChannel).size(), 10u);
  const std::vector<float> seen = Seen(game);
  EXPECT_EQ(std::accumulate(seen.begin(), seen.end(), 0.0f), 12) << "and nothing else is lit";
}

TEST(MinatarSeaquest, ShowsTenChannels) {
  Game game = Diving(4, 6, 2);
  game.facing_right = true;
  game.oxygen = 45;
  game.fish.Add(At(1, 3, kRightward));
  game.subs.Add(At(2, 9, kLeftward));  // its trail lies outside
  game.divers.Add(At(3, 3, kLeftward));
  game.bullets.Add({2, 5, kLeftward});
  game.bullets_left[7] = 1 << 9;
  game.bullets_right[7] = 1 << 0;
  const Cells expected[] = {{{4, 6}},         {{4, 5}}, {{5, 2}}, {{1, 2}, {3, 4}},
                            {{7, 0}, {7, 9}}, {{1, 3}}, {{2, 9}}, {{9, 0}, {9, 1}},
                            {{9, 7}, {9, 8}}, {{3, 3}}};
  for (int channel = 0; channel < 10; ++channel) EXPECT_EQ(Lit(game, channel), expected[channel]);
}

// A bullet goes from column 5 to 4.
TEST(MinatarSeaquest, BulletsAndEnemiesMeetAheadOrInMotionAndNeverPass) {
  struct {
    const char* what;
    Swimmer enemy;
    bool hit;
  } const cases[] = {
      {"stands ahead", At(3, 4, kLeftward), true},
      {"would swim away", At(3, 4, kLeftward, 0), true},
      {"would swim through the bullet", At(3, 4, kRightward, 0), true},
      {"swims onto it", At(3, 3, kRightward, 0), true},
      {"swims onto it from behind", At(3, 5, kLeftward, 0), true},
      {"stands where it was", At(3, 5, kLeftward), false},
      {"stands one further", At(3, 3, kRightward, 1), false},
      {"in the next row", At(4, 4, kRightward), false},
  };
  for (const auto& [what, enemy, hit] : cases) {
    for (const bool sub : {false, true}) {
      Game game = Diving(8, 9);
      game.bullets.Add({5, 3, kLeftward});
      (sub ? game.subs : game.fish).Add(enemy);
      EXPECT_EQ(Play(game), (Outcome{hit ? 1.0f : 0.0f, false})) << what;
      EXPECT_EQ(game.fish.count + game.subs.count, hit ? 0 : 1) << what;
      EXPECT_EQ(game.bullets.count, hit ? 0 : 1) << what;
    }
  }
}

// The sub goes from (4, 5) to (4, 4).
TEST(MinatarSeaquest, AnEnemyOnTheWayEndsTheEpisodeBeforeAndAfterItSwims) {
  struct {
    const char* what;
    Swimmer enemy;
    bool over;
  } const cases[] = {
      {"drives into it", At(4, 4, kLeftward), true},
      {"drives into one that swims on", At(4, 4, kLeftward, 0), true},
      {"drives into one that swims the other way", At(4, 4, kRightward, 0), true},
      {"it swims in", At(4, 3, kRightward, 0), true},
      {"it swims in from behind", At(4, 5, kLeftward, 0), true},
      {"it touches the back", At(4, 5, kLeftward, 1), false},
      {"it is beside", At(4, 3, kRightward, 1), false},
      {"it is above", At(3, 4, kRightward), false},
  };
  for (const auto& [what, enemy, over] : cases) {
    for (const bool sub : {false, true}) {
      Game game = Diving(4, 5);
      (sub ? game.subs : game.fish).Add(enemy);
      EXPECT_EQ(Play(game, Game::kLeft), (Outcome{0, over})) << what;
      EXPECT_EQ(game.fish.count + game.subs.count, 1) << what;
    }
  }
}

TEST(MinatarSeaquest, SurfacingWithAnyOtherNumberButSixCostsOneAndRefills) {
  for (const int held : {-4, -2, -1, 1, 2, 3, 4, 5}) {
    Game game = Diving(1, 5, held);
    game.oxygen = 1;  // in time
    EXPECT_EQ(Play(game, Game::kUp), Outcome{}) << held;
    EXPECT_EQ(game.divers_held, held - 1);
    EXPECT_EQ(game.oxygen, 200);
    EXPECT_EQ(Play(game, Game::kUp), Outcome{}) << "it counts once";
    EXPECT_EQ(game.divers_held, held - 1);
    EXPECT_EQ(game.enemy_interval, 19);
  }
}

// A point for each full 20 of the oxygen left: 0 of 19, 1 of 20, 9 of 199.
TEST(MinatarSeaquest, ARescuePaysTheLitCellsOfTheGauge) {
  for (int oxygen = 1; oxygen < 200; ++oxygen) {
    Game game = Diving(1, 5, 6);
    game.oxygen = oxygen;
    int full = 0;
    while ((full + 1) * 20 <= oxygen) ++full;
    EXPECT_EQ(Lit(game, Game::kOxygenChannel).size(), static_cast<std::size_t>(full));
    ASSERT_EQ(Play(game, Game::kUp), (Outcome{static_cast<float>(full), false})) << oxygen;
    EXPECT_EQ(game.divers_held, -1);
    EXPECT_EQ(game.oxygen, 200);
  }
}

TEST(MinatarSeaquest, EverySurfacingRampsDownToTheLimits) {
  for (const bool ramping : {true, false}) {
    Game game = Diving(1, 5, -1);  // surfacing is free
    game.ramping = ramping;
    for (int surfacings = 1; surfacings <= 40; ++surfacings) {
      Play(game, Game::kUp);
      Play(game, Game::kDown);
      EXPECT_EQ(game.enemy_interval, ramping ? std::max(1, 20 - surfacings) : 20);
      EXPECT_EQ(game.swim_wait, ramping ? std::max(2, 5 - surfacings / 2) : 5) << surfacings;
    }
    ScriptedChance none({});
    game.Reset(none);
    EXPECT_EQ(game.ramping, ramping) << "an option outlives the episode";
    EXPECT_EQ(game.enemy_interval, 20);
    EXPECT_EQ(game.swim_wait, 5);
  }
}

// The slowest enemies and the shortest interval, which play cannot reach together: 59 are there
// after a step, and the sixtieth enters before the oldest leaves.
TEST(MinatarSeaquest, EnemiesFitIntoTheirListsAtAnyRamp) {
  for (const double kind : {0.1, 0.9}) {
    Game game;
    game.enemy_interval = 1;
    game.enemy_timer = 0;
    game.diver_timer = 100000;
    int most = 0;
    for (int step = 0; step < 500; ++step) {
      Play(game, Game::kNoop, {Draw::Uniform(0), Draw::Uniform(kind), Draw::Integer(1, 9, 3)});
      most = std::max({most, game.fish.count, game.subs.count});
    }
    EXPECT_EQ(most + 1, Game::kMaxEnemies);
  }
}

// Random play that survives nearly everything, at every ramp: nothing outgrows its bounds.
TEST(MinatarSeaquest, NothingOutgrowsItsBounds) {
  RandomStream stream({.seed = 3});
  RandomChance chance(stream);
  Game game;
  int most_divers = 0, most_bullets = 0, most_enemies = 0;
  for (int step = 0; step < 40000; ++step) {
    const int action = static_cast<int>(stream.Below(8));
    game.Step(action < 6 ? action : Game::kFire, chance);
    if (game.divers_held == 0) game.divers_held = 1;
    game.oxygen = std::max(game.oxygen, 10);
    if (step % 5000 == 0) game.Reset(chance);
    most_divers = std::max(most_divers, game.divers.count);
    most_bullets = std::max(most_bullets, game.bullets.count);
    most_enemies = std::max(most_enemies, game.fish.count + game.subs.count);
    ASSERT_TRUE(game.column >= 0 && game.column < 10 && game.row >= 0 && game.row <= 8);
    ASSERT_EQ(Lit(game, Game::kSubBackChannel).size(), 1u);
    for (const float value : Seen(game)) ASSERT_TRUE(value == 0 || value == 1);
  }
  EXPECT_EQ(most_divers, Game::kMaxDivers);
  EXPECT_EQ(most_bullets, Game::kMaxBullets);
  EXPECT_GE(most_enemies, 20);
  EXPECT_LE(most_enemies, Game::kMaxEnemies);
}

}  // namespace
}  // namespace starling::envs::minatar_seaquest_test
