// How long things take: means and shares as configured, draws that are each actor's own.
#include "tools/simulate/simulator.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace starling::simulate {
namespace {

constexpr std::int64_t kMs = 1'000'000;  // ns

Config With(const SimulateConfig& simulate) {
  Config config;
  config.simulate = simulate;
  return config;
}

std::vector<std::int64_t> Computes(ActorTimes times, int count) {
  std::vector<std::int64_t> all;
  for (int i = 0; i < count; ++i) all.push_back(times.ComputeNs());
  return all;
}

TEST(ActorTimes, AreUniformWithinTheSpread) {
  const auto all =
      Computes(ActorTimes(With({.compute_ms = 10, .compute_spread = 0.2}), 0, 0), 4000);
  const auto [least, most] = std::ranges::minmax(all);
  EXPECT_GE(least, 8 * kMs);
  EXPECT_LE(most, 12 * kMs);
  EXPECT_LT(least, 8 * kMs + kMs / 50);
  EXPECT_GT(most, 12 * kMs - kMs / 50);
  double sum = 0;
  for (const std::int64_t ns : all) sum += static_cast<double>(ns);
  EXPECT_NEAR(sum / 4000, 10 * kMs, 0.1 * kMs);  // 4000 draws: 5 standard deviations
}

TEST(ActorTimes, TheLowestSlotsAreTheStragglers) {
  const Config config =
      With({.compute_ms = 2, .compute_spread = 0, .stragglers = 2, .straggler_factor = 10});
  EXPECT_EQ(ActorTimes(config, 0, 0).ComputeNs(), 20 * kMs);
  EXPECT_EQ(ActorTimes(config, 1, 0).ComputeNs(), 20 * kMs);
  EXPECT_EQ(ActorTimes(config, 2, 0).ComputeNs(), 2 * kMs);
}

// Ten times (2 ms of its own and 3 steps of 4 ms).
TEST(ActorTimes, AStragglersGamesAreSlowToo) {
  Config config =
      With({.compute_ms = 2, .compute_spread = 0, .stragglers = 1, .straggler_factor = 10});
  config.env.step_ms = 4;
  config.actors.unroll = 3;
  EXPECT_EQ(ActorTimes(config, 0, 0).ComputeNs(), 140 * kMs);
  EXPECT_EQ(ActorTimes(config, 1, 0).ComputeNs(), 14 * kMs);
}

TEST(ActorTimes, AShareOfThePushesIsDelayed) {
  ActorTimes times(With({.network_ms = 1, .delayed_share = 0.05, .delayed_factor = 20}), 1, 0);
  int delayed = 0;
  for (int i = 0; i < 10'000; ++i) {
    const std::int64_t ns = times.PushNs();
    EXPECT_TRUE(ns == kMs || ns == 20 * kMs) << ns;
    delayed += ns > kMs ? 1 : 0;
  }
  EXPECT_NEAR(delayed, 500, 110);  // 5 standard deviations
}

TEST(ActorTimes, DependOnSeedSlotAndLifeAndOnNothingElse) {
  const Config config = With({.compute_spread = 0.5});
  Config other = config;
  other.run.seed = config.run.seed + 1;
  const auto mine = Computes(ActorTimes(config, 4, 7), 20);
  EXPECT_EQ(mine, Computes(ActorTimes(config, 4, 7), 20));
  EXPECT_NE(mine, Computes(ActorTimes(config, 5, 7), 20));
  EXPECT_NE(mine, Computes(ActorTimes(config, 4, 8), 20));
  EXPECT_NE(mine, Computes(ActorTimes(other, 4, 7), 20));
  const auto pushes = [](std::uint32_t life) {
    ActorTimes times(With({.network_ms = 1, .delayed_share = 0.5, .delayed_factor = 20}), 4, life);
    std::vector<std::int64_t> ns;
    for (int i = 0; i < 64; ++i) ns.push_back(times.PushNs());
    return ns;
  };
  EXPECT_EQ(pushes(7), pushes(7));
  EXPECT_NE(pushes(7), pushes(8));
  ActorTimes pushing(config, 4, 7);
  for (const std::int64_t ns : mine) {
    pushing.PushNs();
    EXPECT_EQ(pushing.ComputeNs(), ns) << "what is pushed does not change what is computed";
  }
}

// The pace of envs::Paced in the same slot, added to the computing time.
TEST(ActorTimes, EnvsWithAPaceKeepTheirOwn) {
  Config config = With({.compute_ms = 1, .compute_spread = 0});
  config.env.step_ms = 2;
  config.env.step_jitter = 0.2;
  config.actors.unroll = 20;
  ActorTimes times(config, 3, 5);
  envs::Pace pace(config.env, 20, {config.run.seed, 3, 5});
  for (int unroll = 0; unroll < 10; ++unroll) {
    std::int64_t steps_ns = 0;
    for (int t = 0; t < 20; ++t) steps_ns += pace.NextStepNs();
    EXPECT_GE(steps_ns, 32 * kMs);
    EXPECT_LE(steps_ns, 48 * kMs);
    EXPECT_EQ(times.ComputeNs(), steps_ns + kMs);
  }
}

}  // namespace
}  // namespace starling::simulate
