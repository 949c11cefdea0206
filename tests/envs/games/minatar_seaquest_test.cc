// What swims and what is shot, in positions that recorded play reaches rarely, set up by hand. What
// the traces show often is held by trace_test.cc; the sub's own fate is in
// minatar_seaquest_sub_test.cc.
#include "envs/games/minatar_seaquest.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "tests/envs/games/seaquest_positions.h"

namespace starling::envs::seaquest {
namespace {

Draws EnemyDraws(double side, double kind, int row) {
  return {Draw::Uniform(side), Draw::Uniform(kind), Draw::Integer(1, 9, row)};
}

Draws DiverDraws(double side, int row) { return {Draw::Uniform(side), Draw::Integer(1, 9, row)}; }

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

TEST(MinatarSeaquest, EveryLitCellOfTheGaugeStandsForTwenty) {
  Game game;
  for (game.oxygen = 0; game.oxygen <= 200; ++game.oxygen) {
    Cells expected;
    for (int cell = 0; (cell + 1) * 20 <= game.oxygen; ++cell) expected.emplace_back(9, cell);
    ASSERT_EQ(Lit(game, Game::kOxygenChannel), expected) << game.oxygen;
  }
  game.oxygen = -1;
  EXPECT_EQ(Lit(game, Game::kOxygenChannel), Cells{});
}

TEST(MinatarSeaquest, TheDiverGaugeGrowsToTheLeftAndShowsNothingBelowOne) {
  Game game;
  for (game.divers_held = -3; game.divers_held <= 6; ++game.divers_held) {
    Cells expected;
    for (int i = game.divers_held; i > 0; --i) expected.emplace_back(9, 9 - i);
    EXPECT_EQ(Lit(game, Game::kDiverGaugeChannel), expected) << game.divers_held;
  }
}

TEST(MinatarSeaquest, TheSubMovesWithinItsRowsAndFacesWhereItWentSideways) {
  Game game = Diving(7, 1);
  for (const int row : {8, 8}) {
    Play(game, Game::kDown);
    EXPECT_EQ(game.row, row);
  }
  for (const int column : {0, 0}) {
    Play(game, Game::kLeft);
    EXPECT_EQ(game.column, column);
    EXPECT_FALSE(game.facing_right);
  }
  Play(game, Game::kRight);
  EXPECT_TRUE(game.facing_right);
  Play(game, Game::kUp);
  EXPECT_TRUE(game.facing_right);
  game.column = 9;
  Play(game, Game::kRight);
  EXPECT_EQ(game.column, 9);
  EXPECT_EQ(game.row, 7);
}

TEST(MinatarSeaquest, AnEnemyComesEveryTwentyStepsAndADiverEveryThirty) {
  Game game;
  for (int step = 0; step <= 120; ++step) {
    Draws draws;
    if (step > 0 && step % 20 == 0) draws = EnemyDraws(0.9, 0.9, 1 + step / 20);
    if (step > 0 && step % 30 == 0) {
      const Draws diver = DiverDraws(0.1, step / 30);
      draws.insert(draws.end(), diver.begin(), diver.end());
    }
    EXPECT_EQ(Play(game, Game::kNoop, draws), Outcome{}) << step;
  }
}

TEST(MinatarSeaquest, TheDrawsGiveSideKindAndRow) {
  const double half = std::nextafter(0.5, 0), third = std::nextafter(1.0 / 3, 0);
  for (const double side : {0.0, half, 0.5, 0.99}) {
    const int column = side < 0.5 ? 0 : 9, step = side < 0.5 ? 1 : -1;
    for (const double kind : {0.0, third, 1.0 / 3, 0.99}) {
      Game game = Diving(8, 5);
      game.enemy_timer = 0;
      game.swim_wait = 4;
      Play(game, Game::kNoop, EnemyDraws(side, kind, 3));
      ASSERT_EQ(game.subs.count, kind < 1.0 / 3 ? 1 : 0);
      ASSERT_EQ(game.fish.count, 1 - game.subs.count);
      // Both counts have run for one step.
      const bool sub = game.subs.count == 1;
      EXPECT_EQ((sub ? game.subs : game.fish).at[0], At(3, column, step, 3, sub ? 9 : 0));
    }
    Game game = Diving(8, 5);
    game.diver_timer = 0;
    Play(game, Game::kNoop, DiverDraws(side, 6));
    EXPECT_EQ(game.divers.at[0], At(6, column, step, 4, 0));
  }
}

TEST(MinatarSeaquest, NoEnemyComesAgainstTheTrafficOfItsRow) {
  struct {
    const char* what;
    bool sub, diver, comes;
    int row, step;
  } const cases[] = {
      {"a fish the other way", false, false, false, 3, kRightward},
      {"a sub the other way", true, false, false, 3, kRightward},
      {"a fish the same way", false, false, true, 3, kLeftward},
      {"a sub the same way", true, false, true, 3, kLeftward},
      {"a diver the other way", false, true, true, 3, kRightward},
      {"a fish in another row", false, false, true, 4, kRightward},
  };
  for (const auto& [what, sub, diver, comes, row, step] : cases) {
    for (const double kind : {0.2, 0.8}) {
      Game game = Diving(8, 5);
      game.enemy_timer = 0;
      if (diver) {
        game.divers.Add(At(row, 5, step));
      } else {
        (sub ? game.subs : game.fish).Add(At(row, 5, step));
      }
      const int before = game.fish.count + game.subs.count;
      Play(game, Game::kNoop, EnemyDraws(0.7, kind, 3));
      EXPECT_EQ(game.fish.count + game.subs.count - before, comes ? 1 : 0) << what;
      EXPECT_EQ(game.enemy_timer, 19) << "refused or not: " << what;
    }
  }
}

// The first move when the count it came with has run out, and then one in wait + 1 steps: a swimmer
// that comes with 5 moves in steps 5, 11, 17, ... and leaves with the tenth move, in step 59.
TEST(MinatarSeaquest, SwimmersMoveOncePerCountAndOneStepMore) {
  for (const int wait : {5, 4, 3, 2}) {
    Game game = Diving(8, 9);
    game.fish.Add(At(1, 0, kRightward, wait));
    game.subs.Add(At(2, 9, kLeftward, wait));
    if (wait == 5) game.divers.Add(At(3, 0, kRightward, wait));
    game.swim_wait = wait;
    for (int step = 0; step <= wait + 9 * (wait + 1); ++step) {
      const int moves = step < wait ? 0 : 1 + (step - wait) / (wait + 1);
      Play(game);
      ASSERT_EQ(Lit(game, Game::kFishChannel), moves < 10 ? (Cells{{1, moves}}) : Cells{}) << step;
      ASSERT_EQ(Lit(game, Game::kEnemySubChannel), moves < 10 ? (Cells{{2, 9 - moves}}) : Cells{});
      if (wait != 5) continue;
      ASSERT_EQ(Lit(game, Game::kDiverChannel), moves < 10 ? (Cells{{3, moves}}) : Cells{});
    }
    EXPECT_EQ(game.fish.count + game.subs.count + game.divers.count, 0);
  }
}

TEST(MinatarSeaquest, ARampedWaitCountsFromTheNextMoveOn) {
  Game game = Diving(8, 9);
  game.fish.Add(At(1, 0, kRightward, 3));
  game.swim_wait = 2;
  for (const int column : {0, 0, 0, 1, 1, 1, 2, 2, 2, 3}) {
    Play(game);
    EXPECT_EQ(game.fish.at[0].column, column);
  }
}

// A sub that came in step 0 fires in steps 10, 21 and 32, having moved in 5, 11, 17, 23 and 29; the
// bullet is one cell ahead of it at once, and one more with every step.
TEST(MinatarSeaquest, EnemySubsFireEveryEleventhStep) {
  Game game = Diving(8, 9);
  game.enemy_timer = 0;
  for (int step = 0; step <= 32; ++step) {
    Play(game, Game::kNoop, step == 0 ? EnemyDraws(0, 0, 4) : Draws{});
    game.enemy_timer = 1000;  // nobody else
    Cells expected;
    if (step >= 10 && step <= 17) expected = {{4, 2 + step - 10}};  // from column 1
    if (step >= 21 && step <= 26) expected = {{4, 4 + step - 21}};  // from column 3
    if (step == 32) expected = {{4, 6}};                            // from column 5
    EXPECT_EQ(Lit(game, Game::kEnemyBulletChannel), expected) << step;
  }
}

TEST(MinatarSeaquest, EnemyBulletsLeaveAtBothEdges) {
  Game game = Diving(1, 5);
  game.bullets_left[3] = 1 << 1 | 1 << 9;
  game.bullets_right[3] = 1 << 8;
  Play(game);
  EXPECT_EQ(Lit(game, Game::kEnemyBulletChannel), (Cells{{3, 0}, {3, 8}, {3, 9}}));
  Play(game);
  EXPECT_EQ(Lit(game, Game::kEnemyBulletChannel), (Cells{{3, 7}}));
}

TEST(MinatarSeaquest, ASubThatLeavesInTheStepOfItsGunLeavesNoBullet) {
  for (const int step : {kLeftward, kRightward}) {
    Game game = Diving(8, 5);
    game.subs.Add(At(4, step < 0 ? 0 : 9, step, 0, 0));
    Play(game);
    EXPECT_EQ(game.subs.count, 0);
    for (int row = 0; row <= Game::kLastRow; ++row) {
      EXPECT_EQ(game.bullets_left[row] | game.bullets_right[row], 0);
    }
  }
}

// Fired in steps 0, 5 and 10 from column 9, one cell ahead at once; column 0 in step 8, then gone.
TEST(MinatarSeaquest, OurGunFiresEveryFifthStep) {
  Game game = Diving(8, 9);
  for (int step = 0; step <= 12; ++step) {
    Play(game, Game::kFire);
    Cells expected;
    for (const int fired : {0, 5, 10}) {
      const int column = 8 - (step - fired);
      if (step >= fired && column >= 0) expected.emplace_back(8, column);
    }
    EXPECT_EQ(Lit(game, Game::kFriendlyBulletChannel), expected) << step;
  }
}

TEST(MinatarSeaquest, ABulletFiredAtTheEdgeIsNeverSeen) {
  Game left = Diving(4, 0), right = Diving(4, 9);
  right.facing_right = true;
  Play(left, Game::kFire);
  Play(right, Game::kFire);
  EXPECT_EQ(left.bullets.count + right.bullets.count, 0);
  EXPECT_EQ(left.gun_timer, 4) << "but it counts as a shot";
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

TEST(MinatarSeaquest, ABulletTakesOneEnemyOfACellFishFirstAndTheOlder) {
  Game game = Diving(8, 9);
  game.subs.Add(At(3, 4, kLeftward, 50));
  game.fish.Add(At(3, 4, kLeftward, 60));
  game.fish.Add(At(3, 4, kLeftward, 70));
  for (const auto& [fish, subs] : {std::pair(1, 1), std::pair(0, 1), std::pair(0, 0)}) {
    game.bullets.Add({5, 3, kLeftward});
    EXPECT_EQ(Play(game), (Outcome{1, false}));
    EXPECT_EQ(game.fish.count, fish);
    EXPECT_EQ(game.subs.count, subs);
    EXPECT_EQ(game.bullets.count, 0);
    if (fish == 1) {
      EXPECT_EQ(game.fish.at[0].wait, 69);
    }
  }
}

// Play cannot reach this; somebody must have it all the same.
TEST(MinatarSeaquest, TwoThatSwimOntoABulletShareItSubsFirst) {
  Game game = Diving(8, 9);
  game.bullets.Add({5, 3, kLeftward});
  game.fish.Add(At(3, 3, kRightward, 0));
  game.subs.Add(At(3, 3, kRightward, 0));
  EXPECT_EQ(Play(game), (Outcome{1, false}));
  EXPECT_EQ(game.subs.count, 0);
  EXPECT_EQ(Lit(game, Game::kFishChannel), (Cells{{3, 4}}));
}

TEST(MinatarSeaquest, TwoBulletsHitTwo) {
  Game game = Diving(8, 9);
  game.bullets.Add({5, 3, kLeftward});
  game.bullets.Add({5, 6, kRightward});
  game.fish.Add(At(3, 4, kLeftward));
  game.subs.Add(At(6, 7, kLeftward, 0));
  EXPECT_EQ(Play(game), (Outcome{2, false}));
}

TEST(MinatarSeaquest, ASubThatSwimsOntoABulletStillFires) {
  Game game = Diving(8, 9);
  game.bullets.Add({6, 3, kLeftward});
  game.subs.Add(At(3, 4, kRightward, 0, 0));
  EXPECT_EQ(Play(game), (Outcome{1, false}));
  EXPECT_EQ(game.subs.count, 0);
  EXPECT_EQ(Lit(game, Game::kEnemyBulletChannel), (Cells{{3, 6}}));
}

}  // namespace
}  // namespace starling::envs::seaquest
