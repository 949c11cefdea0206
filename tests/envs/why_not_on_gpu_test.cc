#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "envs/registry.h"
#include "envs/wrappers/wrapped.h"

namespace starling::envs {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

TEST(WhyNotOnGpu, IsEmptyForEveryBundledGame) {
  for (const std::string& name : EnvNames()) EXPECT_EQ(WhyNotOnGpu({.name = name}), "") << name;
  EXPECT_EQ(WhyNotOnGpu({.name = "minatar/asterix",
                         .sticky_actions = 0,
                         .ramping = false,
                         .action_set = ActionSet::kMinimal}),
            "");
}

TEST(WhyNotOnGpu, LeavesAnUnknownNameToTheRegistry) {
  EXPECT_EQ(WhyNotOnGpu({.name = "cathc"}), "");
}

TEST(WhyNotOnGpu, NamesEnvsThatAreNotOurs) {
  EXPECT_THAT(WhyNotOnGpu({.name = "gym:ALE/Pong-v5"}),
              AllOf(StartsWith("env.name: gym:ALE/Pong-v5 "), HasSubstr("Gymnasium")));
  EXPECT_THAT(WhyNotOnGpu({.name = "plugin:./mine.so"}),
              AllOf(StartsWith("env.name: plugin:./mine.so "), HasSubstr("library")));
}

// Whatever needs wrappers has a sentence that begins with its key, and nothing else has one.
TEST(WhyNotOnGpu, NamesTheWrapperThatIsInTheWay) {
  const std::pair<const char*, EnvConfig> cases[] = {
      {"env.noop_max: ", {.noop_max = 3}},
      {"env.repeat: ", {.repeat = 4}},
      {"env.life_loss_ends: ", {.life_loss_ends = true}},
      {"env.time_limit: ", {.time_limit = 100}},
      {"env.reward_clip: ", {.reward_clip = 1}},
      {"env.pixels: ", {.pixels = true}},
      {"env.stack: ", {.stack = 4}}};
  for (const auto& [start, config] : cases) {
    EXPECT_NE(FirstWrapper(config), nullptr) << start;
    EXPECT_THAT(WhyNotOnGpu(config), AllOf(StartsWith(start), HasSubstr("leave it out")));
  }
}

TEST(WhyNotOnGpu, NamesThePaceThatAGpuCannotKeep) {
  EXPECT_THAT(WhyNotOnGpu({.step_ms = 2}),
              AllOf(StartsWith("env.step_ms: "), HasSubstr("leave it out")));
}

}  // namespace
}  // namespace starling::envs
