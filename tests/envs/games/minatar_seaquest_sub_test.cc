// The sub's own fate in minatar/seaquest: what it meets, divers, air, rescues and the ramp, in
// positions that recorded play reaches rarely, set up by hand.
#include "envs/games/minatar_seaquest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "core/random.h"
#include "tests/envs/games/seaquest_positions.h"

namespace starling::envs::seaquest {
namespace {

// The sub goes from (4, 5) to (4, 4).
TEST(MinatarSeaquestSub, AnEnemyOnTheWayEndsTheEpisodeBeforeAndAfterItSwims) {
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

TEST(MinatarSeaquestSub, AnEnemyBulletEndsTheEpisodeBeforeAndAfterItMoves) {
  const auto outcome = [](int bullet_column, int step, int action) {
    Game game = Diving(4, 5);
    auto& bullets = step < 0 ? game.bullets_left : game.bullets_right;
    bullets[4] = static_cast<std::uint16_t>(1u << bullet_column);
    return Play(game, action).terminal;
  };
  EXPECT_TRUE(outcome(6, kLeftward, Game::kNoop)) << "it comes";
  EXPECT_TRUE(outcome(4, kRightward, Game::kLeft)) << "head on, from cell to cell";
  EXPECT_TRUE(outcome(4, kLeftward, Game::kLeft)) << "caught up with";
  EXPECT_TRUE(outcome(5, kLeftward, Game::kLeft)) << "it follows";
  EXPECT_FALSE(outcome(6, kLeftward, Game::kLeft)) << "it hits the back only";
  EXPECT_FALSE(outcome(6, kLeftward, Game::kUp));
  EXPECT_FALSE(outcome(4, kLeftward, Game::kNoop));
}

TEST(MinatarSeaquestSub, AGunAtOurSideHitsInTheStepOfItsShot) {
  Game game = Diving(4, 5);
  game.subs.Add(At(4, 4, kRightward, kNever, 0));
  EXPECT_TRUE(Play(game).terminal);
  EXPECT_EQ(Lit(game, Game::kEnemyBulletChannel), (Cells{{4, 5}}));
}

TEST(MinatarSeaquestSub, BulletsPassEachOther) {
  Game game = Diving(8, 9);
  game.bullets.Add({5, 3, kLeftward});
  game.bullets_right[3] = 1 << 3;
  EXPECT_EQ(Play(game), Outcome{});
  EXPECT_EQ(Lit(game, Game::kFriendlyBulletChannel), (Cells{{3, 4}}));
  EXPECT_EQ(Lit(game, Game::kEnemyBulletChannel), (Cells{{3, 4}}));
}

TEST(MinatarSeaquestSub, TheLastStepIsPlayedOut) {
  Game game = Diving(4, 5);
  game.subs.Add(At(4, 5, kLeftward, 0));
  game.fish.Add(At(2, 3, kRightward, 0));
  game.bullets.Add({5, 2, kLeftward});
  EXPECT_EQ(Play(game), (Outcome{1, true}));
  EXPECT_EQ(Lit(game, Game::kEnemySubChannel), (Cells{{4, 4}}));
  EXPECT_EQ(game.oxygen, 199);
}

TEST(MinatarSeaquestSub, ADiverIsPickedUpBeforeAndAfterItSwims) {
  struct {
    const char* what;
    Swimmer diver;
    bool taken;
  } const cases[] = {
      {"drives onto it", At(4, 4, kLeftward), true},
      {"drives onto one about to swim", At(4, 4, kLeftward, 0), true},
      {"it swims in", At(4, 3, kRightward, 0), true},
      {"it is beside", At(4, 3, kRightward, 1), false},
      {"it touches the back", At(4, 5, kLeftward), false},
  };
  for (const auto& [what, diver, taken] : cases) {
    Game game = Diving(4, 5, 2);
    game.divers.Add(diver);
    EXPECT_EQ(Play(game, Game::kLeft), Outcome{}) << what;
    EXPECT_EQ(game.divers_held, taken ? 3 : 2) << what;
    EXPECT_EQ(game.divers.count, taken ? 0 : 1) << what;
  }
}

TEST(MinatarSeaquestSub, SixDiversAreHeldAndASeventhSwimsOn) {
  for (const int held : {-1, 0, 5, 6}) {
    Game game = Diving(4, 5, held);
    game.divers.Add(At(4, 5, kLeftward, 0));
    Play(game);
    EXPECT_EQ(game.divers_held, std::min(held + 1, 6));
    EXPECT_EQ(Lit(game, Game::kDiverChannel), held == 6 ? (Cells{{4, 4}}) : Cells{});
  }
  Game game = Diving(4, 5, 6);
  game.divers.Add(At(4, 4, kRightward, 0));
  Play(game);
  EXPECT_EQ(game.divers_held, 6);
  EXPECT_EQ(Lit(game, Game::kDiverChannel), (Cells{{4, 5}}));
}

TEST(MinatarSeaquestSub, TwoDiversCanBePickedUpAtOnceUpToSix) {
  Game game = Diving(4, 5, 5);
  game.divers.Add(At(4, 5, kLeftward));
  game.divers.Add(At(4, 5, kRightward));
  Play(game);
  EXPECT_EQ(game.divers_held, 6);
  EXPECT_EQ(game.divers.count, 1);
  EXPECT_EQ(game.divers.at[0].step, kLeftward) << "the younger is taken";
}

TEST(MinatarSeaquestSub, OfTwoDiversThatSwimToUsTheYoungerIsTheSixth) {
  Game game = Diving(1, 7, 5);
  game.divers.Add(At(1, 6, kRightward, 0));
  game.divers.Add(At(1, 8, kLeftward, 0));
  Play(game);
  EXPECT_EQ(game.divers_held, 6);
  EXPECT_EQ(Lit(game, Game::kDiverChannel), (Cells{{1, 7}}));
  EXPECT_EQ(Lit(game, Game::kTrailChannel), (Cells{{1, 6}})) << "of the older";
}

TEST(MinatarSeaquestSub, TheOthersKeepTheirAgeWhenADiverGoes) {
  for (const int gone : {0, 1}) {
    Game game = Diving(4, 5, 2);
    game.divers.Add(At(gone == 0 ? 4 : 3, 5, kLeftward));
    game.divers.Add(At(gone == 1 ? 4 : 3, 5, kRightward));
    Play(game);
    ASSERT_EQ(game.divers.count, 1);
    EXPECT_EQ(game.divers.at[0].step, gone == 0 ? kRightward : kLeftward);
  }
  Game game = Diving(4, 5, 2);
  game.divers.Add(At(2, 5, kLeftward));
  game.divers.Add(At(3, 5, kRightward));
  Play(game);
  EXPECT_EQ(game.divers.at[0].row, 2);
  EXPECT_EQ(game.divers.at[1].row, 3);
}

TEST(MinatarSeaquestSub, OxygenLastsTwoHundredStepsBelowTheSurface) {
  Game game = Diving(1, 5);
  for (int step = 1; step <= 200; ++step) {
    ASSERT_EQ(Play(game), Outcome{}) << step;
    ASSERT_EQ(game.oxygen, 200 - step);
  }
  EXPECT_EQ(Play(game), (Outcome{0, true}));
  EXPECT_EQ(Lit(game, Game::kOxygenChannel), Cells{});
}

TEST(MinatarSeaquestSub, AtTheSurfaceNothingIsUsedAndNobodyIsNeeded) {
  Game game;
  game.enemy_timer = game.diver_timer = 1000;
  for (int step = 0; step < 300; ++step) ASSERT_EQ(Play(game, Game::kUp), Outcome{});
  EXPECT_EQ(game.oxygen, 200);
  EXPECT_EQ(game.enemy_interval, 20);
  EXPECT_EQ(game.divers_held, 0);
}

TEST(MinatarSeaquestSub, SurfacingWithNoDiverEndsTheEpisode) {
  Game game = Diving(1, 5, 0);
  game.oxygen = 100;
  EXPECT_EQ(Play(game, Game::kUp), (Outcome{0, true}));
  EXPECT_EQ(Lit(game, Game::kOxygenChannel).size(), 5u) << "and gives no oxygen";
  EXPECT_EQ(game.divers_held, 0);
}

TEST(MinatarSeaquestSub, SurfacingWithAnyOtherNumberButSixCostsOneAndRefills) {
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

// The last picture shows all that surfacing does, and what was shot is paid.
TEST(MinatarSeaquestSub, SurfacingWhenNoOxygenIsLeftIsTooLate) {
  for (const int held : {-2, -1, 0, 1, 5, 6}) {
    Game game = Diving(1, 5, held);
    game.oxygen = 0;
    game.fish.Add(At(5, 4, kLeftward));
    game.bullets.Add({5, 5, kLeftward});
    EXPECT_EQ(Play(game, Game::kUp), (Outcome{1, true})) << held;
    EXPECT_EQ(Lit(game, Game::kOxygenChannel).size(), held == 0 ? 0u : 10u);
    EXPECT_EQ(Lit(game, Game::kDiverGaugeChannel).size(), held == 5 ? 4u : 0u);
  }
}

// A point for each full 20 of the oxygen left: 0 of 19, 1 of 20, 9 of 199.
TEST(MinatarSeaquestSub, ARescuePaysTheLitCellsOfTheGauge) {
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

TEST(MinatarSeaquestSub, ARescueAndAShotAddUp) {
  Game game = Diving(1, 5, 6);
  game.oxygen = 60;
  game.fish.Add(At(5, 4, kLeftward));
  game.bullets.Add({5, 5, kLeftward});
  EXPECT_EQ(Play(game, Game::kUp), (Outcome{4, false}));
}

// 6, rescued: -1, surfaced: -2; eight divers more: 6 again. Back at 0 surfacing is deadly.
TEST(MinatarSeaquestSub, AfterARescueTheCountIsBelowZero) {
  Game game = Diving(1, 5, 6);
  EXPECT_EQ(Play(game, Game::kUp), (Outcome{10, false})) << "full oxygen, which play cannot reach";
  EXPECT_EQ(game.divers_held, -1);
  Play(game, Game::kDown);
  EXPECT_EQ(Play(game, Game::kUp), Outcome{});
  EXPECT_EQ(game.divers_held, -2);
  Play(game, Game::kDown);
  for (const int held : {-1, 0, 1, 2, 3, 4, 5, 6}) {
    if (held == 1) {
      Game other = game;
      EXPECT_EQ(Play(other, Game::kUp), (Outcome{0, true})) << "with none";
    }
    game.divers.Add(At(1, 5, kLeftward));
    Play(game);
    EXPECT_EQ(game.divers_held, held);
  }
  EXPECT_EQ(game.oxygen, 191);  // 200 - 1 step down - 8
  EXPECT_EQ(Play(game, Game::kUp), (Outcome{9, false}));
  EXPECT_EQ(game.divers_held, -1);
}

TEST(MinatarSeaquestSub, EverySurfacingRampsDownToTheLimits) {
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

TEST(MinatarSeaquestSub, ARescueRampsToo) {
  Game game = Diving(1, 5, 6);
  Play(game, Game::kUp);
  EXPECT_EQ(game.enemy_interval, 19);
  EXPECT_EQ(game.ramps, 1);
}

// The count under way when the interval falls from 2 to 1 runs out first; then one comes every
// step.
TEST(MinatarSeaquestSub, AtTheLastIntervalAnEnemyComesEveryStep) {
  Game game = Diving(1, 5, 3);
  game.enemy_interval = 2;
  game.enemy_timer = 1;
  Play(game, Game::kUp);  // the timer is 0, the interval 1
  EXPECT_EQ(game.enemy_interval, 1);
  for (int i = 0; i < 10; ++i) {
    Play(game, Game::kUp, {Draw::Uniform(0), Draw::Uniform(0.9), Draw::Integer(1, 9, 1 + i % 8)});
    EXPECT_EQ(game.fish.count, i + 1);
  }
}

// The slowest enemies and the shortest interval, which play cannot have at once: 59 are there after
// a step, and the sixtieth comes before the oldest leaves.
TEST(MinatarSeaquestSub, EnemiesFitIntoTheirListsAtAnyRamp) {
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
TEST(MinatarSeaquestSub, NothingOutgrowsItsBounds) {
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
}  // namespace starling::envs::seaquest
