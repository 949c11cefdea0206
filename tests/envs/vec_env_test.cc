#include "envs/vec_env.h"

#include <gmock/gmock.h>

#include "envs/games/minatar_asterix.h"
#include "envs/games/minatar_breakout.h"
#include "tests/envs/env_bench.h"

namespace starling::envs {
namespace {

// A game whose observation is its history: (number drawn at reset, steps so far, action played).
// The reward is the action; an episode ends after 3 + drawn % 2 steps.
struct Probe {
  int drawn = 0, steps = 0, played = -1;

  static EnvSpec Spec() {
    return {.name = "probe",
            .channels = 3,
            .num_actions = 4,
            .action_names = {"a", "b", "c", "d"},
            .low = -1,
            .high = 1000};
  }
  template <Chance C>
  void Reset(C& chance) {
    *this = {.drawn = chance.Below(1000)};
  }
  template <Chance C>
  Outcome Step(int action, C&) {
    played = action;
    return {static_cast<float>(action), ++steps == 3 + drawn % 2};
  }
  template <class State>
  void Fields(State& state) {
    state(drawn);
    state(steps);
    state(played);
  }
  void Observe(float* out) const {
    out[0] = static_cast<float>(drawn);
    out[1] = static_cast<float>(steps);
    out[2] = static_cast<float>(played);
  }
};

EnvBench Bench(int num_envs, const EnvSeed& seed, double sticky) {
  return EnvBench(
      std::make_unique<VecGame<Probe>>(num_envs, seed, EnvConfig{.sticky_actions = sticky}));
}

// The documented order of draws, redone by hand from the documented stream.
TEST(VecGame, DrawsTheStickyActionThenTheGamesThenTheResets) {
  const EnvSeed seed{.seed = 11, .slot = 2, .life = 5};
  const double sticky = 0.4;
  EnvBench bench = Bench(3, seed, sticky);
  for (std::uint32_t i = 0; i < 3; ++i) {
    RandomStream stream({11, 2, 5, i, Purpose::kEnv});
    EnvBench again = Bench(3, seed, sticky);
    int drawn = static_cast<int>(stream.Below(1000)), steps = 0, last = 0, repeats = 0;
    for (int step = 0; step < 200; ++step) {
      const int asked = step % 4;
      std::fill(again.actions.begin(), again.actions.end(), asked);
      ASSERT_EQ(again.seen[3 * i], static_cast<float>(drawn));
      again.Step();
      const bool repeat = stream.UniformDouble() < sticky;
      repeats += repeat;
      last = repeat ? last : asked;  // across resets too
      ASSERT_EQ(again.rewards[i], static_cast<float>(last)) << "step " << step;
      const bool over = ++steps == 3 + drawn % 2;
      ASSERT_EQ(again.ends[i], over ? 1 : 0);
      if (!over) continue;
      drawn = static_cast<int>(stream.Below(1000));
      steps = 0;
      ASSERT_EQ(again.seen[3 * i + 1], 0) << "the first picture of the next episode";
    }
    EXPECT_GT(repeats, 40);  // 80 expected
  }
}

TEST(VecGame, TheLastActionOutlivesAReset) {
  const EnvSeed seed{.seed = 1};
  EnvBench bench = Bench(1, seed, 0.5);
  RandomStream stream({1, 0, 0, 0, Purpose::kEnv});
  stream.Below(1000);
  int last = 0, repeats = 0;
  for (int i = 0; i < 40; ++i) {
    const int asked = 1 + i % 3;
    bench.Step({asked});
    const bool repeat = stream.UniformDouble() < 0.5;
    repeats += repeat;
    last = repeat ? last : asked;
    ASSERT_EQ(bench.seen[2], static_cast<float>(last)) << i;
    bench.env->Reset(bench.seen);  // in the middle of the episode
    stream.Below(1000);
  }
  EXPECT_GT(repeats, 8);
}

TEST(VecGameDeathTest, RefusesBuffersOfAnotherSize) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EnvBench bench = Bench(2, {}, 0.0);
  bench.rewards.resize(3);
  EXPECT_DEATH(bench.Step(), "3 rewards");
  EXPECT_DEATH(bench.env->Reset(bench.rewards), "CHECK");
  EXPECT_DEATH(Bench(0, {}, 0.0), "num_envs = 0");
  EXPECT_DEATH(Bench(1, {}, 1.5), "sticky_actions = 1.5");
}

TEST(VecGameOptions, MinimalActionsAreThoseThatDoSomething) {
  const EnvConfig minimal{.sticky_actions = 0, .action_set = ActionSet::kMinimal};
  const auto bench = [](const EnvConfig& config) {
    return EnvBench(std::make_unique<VecGame<MinatarBreakout>>(1, EnvSeed{.seed = 1}, config));
  };
  EnvBench few = bench(minimal), full = bench({.sticky_actions = 0});
  EXPECT_EQ(few.env->spec().num_actions, 3);
  EXPECT_THAT(few.env->spec().action_names, testing::ElementsAre("noop", "left", "right"));
  EXPECT_EQ(full.env->spec().num_actions, 6);
  few.Step({2});
  full.Step({MinatarBreakout::kRight});
  EXPECT_EQ(few.seen, full.seen);
}

TEST(VecGameOptions, RampingIsPassedOn) {
  EXPECT_TRUE(MakePlayers<MinatarAsterix>(1, {}, {})[0].game.ramping);
  EXPECT_FALSE(MakePlayers<MinatarAsterix>(1, {}, {.ramping = false})[0].game.ramping);
}

}  // namespace
}  // namespace starling::envs
