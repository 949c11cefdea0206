// An actor's own settings, beside those of the run's configuration.
#include "actors/actor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/error_of.h"

namespace starling::actors {
namespace {

using testing::HasSubstr;

Config RunsConfig() {
  return ParseConfig("", "test.toml", {"actors.envs_per_actor=32", "actors.unroll=100"});
}

TEST(WithOwn, ItsOwnEnvs) {
  const Config config = WithOwn(RunsConfig(), {.envs = 8});
  EXPECT_EQ(config.samples_per_gradient(), 800);
  Config expected = RunsConfig();
  expected.actors.envs_per_actor = 8;
  EXPECT_EQ(config, expected);
}

TEST(WithOwn, ItsOwnBackend) {
  EXPECT_EQ(WithOwn(RunsConfig(), {.backend = DeviceChoice::kCuda}).actors.backend,
            DeviceChoice::kCuda);
  Config gpu = RunsConfig();
  gpu.actors.backend = gpu.actors.env_device = DeviceChoice::kCuda;
  EXPECT_EQ(WithOwn(gpu, {.backend = DeviceChoice::kCpu}), RunsConfig())
      << "games on a GPU need a net there";
}

TEST(WithOwn, NoMoreSamplesThanAGradientMayHave) {
  EXPECT_EQ(WithOwn(RunsConfig(), {.envs = 10'000}).samples_per_gradient(), kMaxSamples);
  EXPECT_THAT(ErrorOf([] { WithOwn(RunsConfig(), {.envs = 10'001}); }),
              testing::AllOf(HasSubstr("--envs 10001 contradicts actors.unroll = 100"),
                             HasSubstr("at most 1000000")));
}

}  // namespace
}  // namespace starling::actors
