// Bundled games behind the wrappers.
#include <gtest/gtest.h>

#include <algorithm>
#include <span>

#include "core/random.h"
#include "envs/registry.h"
#include "tests/envs/env_bench.h"
#include "tests/envs/repeat_fixture.h"

namespace starling::envs {
namespace {

EnvBench Bench(const EnvConfig& config, int num_envs) {
  return EnvBench(MakeVecEnv(config, num_envs, {.seed = 9}));
}

// The same episodes with and without the wrappers' machinery.
TEST(WrappedGames, AWrapperThatDoesNothingChangesNothing) {
  for (const std::string& name : EnvNames()) {
    EnvBench bare = Bench({.name = name}, 3);
    EnvBench wrapped = Bench({.name = name, .time_limit = 1'000'000}, 3);  // never reached
    ASSERT_EQ(bare.seen, wrapped.seen) << name;
    RandomStream random(StreamId{.seed = 4});
    for (int step = 0; step < 500; ++step) {
      for (std::size_t i = 0; i < bare.envs(); ++i) bare.DrawAction(i, random);
      bare.Step();
      wrapped.Step(bare.actions);
      ASSERT_EQ(bare.seen, wrapped.seen) << name << ", step " << step;
      ASSERT_EQ(bare.rewards, wrapped.rewards) << name << ", step " << step;
      ASSERT_EQ(bare.ends, wrapped.ends) << name << ", step " << step;
    }
  }
}

// The same seeds and actions, with a limit and without: the final observation is the observation of
// the env without.
TEST(WrappedGames, ATruncatedOneWouldHaveShownWhatTheUntruncatedShows) {
  int truncated = 0;
  for (const std::string& name : EnvNames()) {
    EnvConfig config{.name = name};
    const EnvSpec spec = SpecOf(config);
    if (!spec.actions.masked && spec.entries.empty()) {
      config.repeat = 2;
      config.max_pool = true;
      config.stack = 3;
      config.pixels = spec.height > 1;
    }
    RandomStream random(StreamId{.seed = 4});
    for (int limit = 1; limit <= 5; ++limit) {
      EnvBench free = Bench(config, 2);
      EnvConfig with_limit = config;
      with_limit.time_limit = limit;
      EnvBench limited = Bench(with_limit, 2);
      for (int step = 0; step < limit; ++step) {
        for (std::size_t i = 0; i < free.envs(); ++i) free.DrawAction(i, random);
        free.Step();
        limited.Step(free.actions);
      }
      for (const Truncated& last : limited.env->truncated()) {
        ++truncated;
        const auto env = static_cast<std::size_t>(last.env);
        EXPECT_EQ(limited.ends[env], static_cast<std::uint8_t>(End::kTruncated)) << name;
        const auto shown = std::span(free.seen).subspan(env * free.row, free.row);
        EXPECT_TRUE(std::ranges::equal(last.observation, shown)) << name << ", limit " << limit;
      }
    }
  }
  EXPECT_GT(truncated, 50) << "few had ended before";
}

TEST(WrappedGames, ARepeatedActionIsSoManyFrames) {
  for (const std::string& name : EnvNames()) {
    const EnvSpec spec = SpecOf({.name = name});
    if (spec.actions.masked || !spec.entries.empty()) continue;
    const EnvConfig config{.name = name, .sticky_actions = 0, .repeat = 4, .max_pool = true};
    const auto whole = MakeFrames(config, 1, {.seed = 9}),
               single = MakeFrames(config, 1, {.seed = 9});
    ExpectTheSameFrameByFrame(*whole, *single, 500);
    ASSERT_FALSE(HasFailure()) << name;
  }
}

}  // namespace
}  // namespace starling::envs
