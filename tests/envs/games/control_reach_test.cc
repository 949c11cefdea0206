#include "envs/games/control_reach.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "core/random.h"

namespace starling::envs::control_reach_test {
namespace {

// A craft at rest.
template <class G>
G At(int x, int y, int target_x = 0, int target_y = 0) {
  G game;
  game.position[0] = x;
  game.position[1] = y;
  game.target[0] = target_x;
  game.target[1] = target_y;
  return game;
}

// A step draws nothing.
template <class G>
Outcome Step(G& game, const typename G::Action& action) {
  ScriptedChance none({});
  const Outcome outcome = game.Step(action, none);
  EXPECT_EQ(none.Mismatch(), "");
  return outcome;
}

template <class G>
std::vector<float> Seen(const G& game) {
  std::vector<float> seen(7, -9);
  game.Observe(seen.data());
  return seen;
}

TEST(ControlReach, DrawsCraftAndTarget) {
  ScriptedChance chance({Draw::Integer(-1000, 1001, -1000), Draw::Integer(-1000, 1001, 250),
                         Draw::Integer(-1000, 1001, 1000), Draw::Integer(-1000, 1001, -125)});
  ControlReach game = At<ControlReach>(1, 2);
  Step(game, {1, 1});
  game.Reset(chance);
  EXPECT_EQ(chance.Mismatch(), "");
  EXPECT_EQ(Seen(game), (std::vector<float>{-1, 0.25f, 0, 0, 1, -0.125f, 1}));
}

TEST(ControlReach, APushAddsToTheVelocityAndThisToThePosition) {
  ControlReach game = At<ControlReach>(100, -300, 400, -200);
  // 20 * 0.5 = 10 and 20 * -1 = -20. Then |400 - 110| + |-200 + 320| = 290 + 120 = 410.
  EXPECT_EQ(Step(game, {0.5f, -1}), (Outcome{-410 / 2000.0f, false}));
  EXPECT_EQ(Seen(game), (std::vector<float>{0.11f, -0.32f, 0.1f, -0.2f, 0.4f, -0.2f, 0.99f}));
  // Velocities 30 and -20: 110 + 30 and -320 - 20. Then 260 + 140 = 400.
  EXPECT_EQ(Step(game, {1, 0}), (Outcome{-0.2f, false}));
  EXPECT_EQ(Seen(game), (std::vector<float>{0.14f, -0.34f, 0.3f, -0.2f, 0.4f, -0.2f, 0.98f}));
}

TEST(ControlReach, AThrustIsRoundedToTwentiethsHalvesUp) {
  for (const auto& [thrust, push] : std::vector<std::pair<float, int>>{{0, 0},
                                                                       {1, 20},
                                                                       {-1, -20},
                                                                       {0.024f, 0},
                                                                       {0.026f, 1},
                                                                       {-0.024f, 0},
                                                                       {-0.026f, -1},
                                                                       {0.125f, 3},    // 2.5
                                                                       {-0.125f, -2},  // -2.5
                                                                       {0.97f, 19},    // 19.4
                                                                       {0.98f, 20},    // 19.6
                                                                       {1e-40f, 0},
                                                                       {-1e-40f, 0}}) {
    ControlReach game = At<ControlReach>(0, 0);
    Step(game, {thrust, 0});
    EXPECT_EQ(game.velocity[0], push) << thrust;
  }
}

TEST(ControlReach, TheVelocityHasALimit) {
  ControlReach game = At<ControlReach>(-1000, 1000);
  std::vector<int> fast;
  for (int step = 0; step < 7; ++step) {
    Step(game, {1, -0.9f});
    fast.insert(fast.end(), {game.velocity[0], -game.velocity[1]});
  }
  EXPECT_EQ(fast, (std::vector<int>{20, 18, 40, 36, 60, 54, 80, 72, 100, 90, 100, 100, 100, 100}));
  EXPECT_EQ(game.position[0], -1000 + 20 + 40 + 60 + 80 + 3 * 100);
}

TEST(ControlReach, AWallTakesTheVelocityOfItsAxis) {
  ControlReach game = At<ControlReach>(950, 0);
  game.velocity[0] = 40;
  game.velocity[1] = -30;
  Step(game, {0, 0});  // 990: not yet
  EXPECT_EQ(game.velocity[0], 40);
  Step(game, {1, 0});  // 990 + 60 is beyond
  EXPECT_EQ(game.position[0], 1000);
  EXPECT_EQ(game.velocity[0], 0);
  EXPECT_EQ(game.position[1], -60);
  EXPECT_EQ(game.velocity[1], -30);
  Step(game, {1, 0});
  EXPECT_EQ(game.position[0], 1000) << "held by the push";
  Step(game, {-0.5f, 0});
  EXPECT_EQ(game.position[0], 990) << "free at once";

  ControlReach touching = At<ControlReach>(0, -980);
  touching.velocity[1] = -20;
  Step(touching, {0, 0});  // -1000 exactly
  EXPECT_EQ(touching.velocity[1], 0);
}

TEST(ControlReach, EndsAfterAHundredStepsWhereverItIs) {
  ControlReach game = At<ControlReach>(0, 0);
  for (int step = 1; step < 100; ++step) ASSERT_EQ(Step(game, {0, 0}), (Outcome{0, false})) << step;
  EXPECT_EQ(Step(game, {0, 0}), (Outcome{0, true})) << "on the target: no reward is higher";
}

TEST(ControlReach, TheFarthestTargetCostsTwo) {
  ControlReach game = At<ControlReach>(-1000, -1000, 1000, 1000);
  EXPECT_EQ(Step(game, {-1, -1}).reward, -2);
}

TEST(ControlSteer, ItsChoicesAreTheFullThrusts) {
  RandomStream random(StreamId{.seed = 4});
  ControlReach reach = At<ControlReach>(300, -400, -50, 60);
  ControlSteer steer = At<ControlSteer>(300, -400, -50, 60);
  for (int step = 0; step < 99; ++step) {
    const int x = static_cast<int>(random.Below(3)), y = static_cast<int>(random.Below(3));
    const Outcome outcome = Step(steer, {x, y});
    ASSERT_EQ(Step(reach, {static_cast<float>(x - 1), static_cast<float>(y - 1)}), outcome);
    ASSERT_EQ(Seen(reach), Seen(steer)) << step;
  }
}

using Masked = std::array<float, 6>;
constexpr Masked MaskAt(int x, int y) {
  ControlSteer game;
  game.position[0] = x;
  game.position[1] = y;
  Masked mask{};
  game.Mask(mask.data());
  return mask;
}
static_assert(MaskAt(0, 999) == Masked{1, 1, 1, 1, 1, 1});
static_assert(MaskAt(-1000, 0) == Masked{0, 1, 1, 1, 1, 1});
static_assert(MaskAt(1000, -1000) == Masked{1, 1, 0, 0, 1, 1});

TEST(ControlSteer, AMaskedPushWouldHaveNoEffect) {
  ControlSteer pushed = At<ControlSteer>(1000, 0), coasting = pushed;
  EXPECT_EQ(Step(pushed, {ControlSteer::kForth, 1}), Step(coasting, {ControlSteer::kCoast, 1}));
  EXPECT_EQ(pushed, coasting);
}

// Pushes toward the target, and against the velocity in time to stop there. Returns the mean return
// of some episodes, under a player that may also do nothing.
double MeanReturn(bool steers) {
  constexpr int kEpisodes = 200;
  RandomStream stream(StreamId{.seed = 9});
  RandomChance chance(stream);
  double sum = 0;
  for (int episode = 0; episode < kEpisodes; ++episode) {
    ControlSteer game;
    game.Reset(chance);
    for (bool over = false; !over;) {
      ControlSteer::Action action = {ControlSteer::kCoast, ControlSteer::kCoast};
      for (std::size_t axis = 0; steers && axis < 2; ++axis) {
        const int speed = game.velocity[axis], left = game.target[axis] - game.position[axis];
        const int stop = speed * (speed < 0 ? -speed : speed) / 40;  // the way to a standstill
        if (left - stop > 20) action[axis] = ControlSteer::kForth;
        if (left - stop < -20) action[axis] = ControlSteer::kBack;
      }
      const Outcome outcome = game.Step(action, chance);
      sum += outcome.reward;
      over = outcome.terminal;
    }
  }
  return sum / kEpisodes;
}

TEST(ControlSteer, SteeringPays) {
  EXPECT_GT(MeanReturn(true), -7);
  EXPECT_LT(MeanReturn(false), -60);
}

}  // namespace
}  // namespace starling::envs::control_reach_test
