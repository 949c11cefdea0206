#include "envs/registry.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <utility>

#include "core/error.h"
#include "envs/wrappers/wrapped.h"
#include "tests/support/error_of.h"

namespace starling::envs {
namespace {

using testing::HasSubstr;

std::string RefusalOf(const std::string& name) {
  return ErrorOf([&] { SpecOf({.name = name}); });
}

TEST(Registry, HoldsTheBundledEnvsInOrder) {
  const std::vector<std::string> names = EnvNames();
  EXPECT_THAT(names, testing::IsSupersetOf({"catch", "dummy", "minatar/breakout"}));
  EXPECT_TRUE(std::is_sorted(names.begin(), names.end()));
}

TEST(Registry, AnUnknownNameIsAnsweredWithTheNearestAndAll) {
  const std::string refusal = RefusalOf("minatar/brekout");
  EXPECT_THAT(refusal, HasSubstr("no env \"minatar/brekout\""));
  EXPECT_THAT(refusal, HasSubstr("did you mean \"minatar/breakout\"?"));
  EXPECT_THAT(refusal, HasSubstr("dummy, grid/courier, memory/recall, minatar/asterix"));
  for (const std::string& name : EnvNames()) EXPECT_THAT(refusal, HasSubstr(name));
  EXPECT_THAT(RefusalOf("chess"), testing::Not(HasSubstr("did you mean")));
  EXPECT_NE(RefusalOf(""), "");
  EXPECT_THROW(MakeVecEnv({.name = "chess"}, 1, {}), UserError);
}

TEST(Registry, WhatAnEnvCannotDoIsRefusedByItsKey) {
  const auto refusal = [](const EnvConfig& config) -> std::string {
    return ErrorOf([&] { SpecOf(config); });
  };
  EXPECT_THAT(refusal({.name = "catch", .ramping = false}),
              testing::StartsWith("env.ramping: catch has no difficulty ramp"));
  EXPECT_EQ(refusal({.name = "minatar/asterix", .ramping = false}), "");
  EXPECT_THAT(refusal({.name = "catch", .life_loss_ends = true}),
              testing::StartsWith("env.life_loss_ends: catch has no lives"));
  EXPECT_THAT(refusal({.name = "catch", .options = "{}"}), testing::StartsWith("env.options"));
  EXPECT_THAT(refusal({.name = "catch", .isolate = true}), testing::StartsWith("env.isolate"));
  EXPECT_THROW(MakeVecEnv({.name = "catch", .isolate = true}, 1, {}), UserError);
  EXPECT_THROW(MakeVecEnv({.name = "catch", .stack = 2, .isolate = true}, 1, {}), UserError);
}

using testing::AllOf;
using testing::StartsWith;

TEST(Registry, WhatDoesNotFitTheActionsIsRefusedByItsKey) {
  const std::pair<const char*, EnvConfig> cases[] = {
      {"env.action_bounds: catch has no box of actions",
       {.name = "catch", .action_bounds = ActionBounds::kTanh}},
      {"env.stack: control/steer masks actions", {.name = "control/steer", .stack = 4}},
      {"env.pixels: control/steer masks actions", {.name = "control/steer", .pixels = true}},
      {"env.max_pool: control/steer masks actions",
       {.name = "control/steer", .repeat = 2, .max_pool = true}},
      {"env.repeat: control/steer masks actions", {.name = "control/steer", .repeat = 4}},
      {"env.noop_max: control/steer masks actions", {.name = "control/steer", .noop_max = 3}},
      {"env.sticky_actions: control/steer masks actions",
       {.name = "control/steer", .sticky_actions = 0.1}}};
  for (const auto& [start, config] : cases) {
    EXPECT_THAT(ErrorOf([&] { SpecOf(config); }),
                AllOf(StartsWith(start), HasSubstr("leave it out")));
    EXPECT_THROW(MakeVecEnv(config, 1, {}), UserError) << start;
  }
  EXPECT_EQ(ErrorOf([] { SpecOf({.name = "control/steer", .time_limit = 50}); }), "");
  const EnvConfig reach{.name = "control/reach", .action_bounds = ActionBounds::kTanh};
  EXPECT_EQ(SpecOf(reach).actions.bounds, ActionBounds::kTanh);
  EXPECT_EQ(MakeVecEnv(reach, 1, {})->spec().actions.bounds, ActionBounds::kTanh);
}

TEST(Registry, WhatTakesAnObservationForOneArrayIsRefusedByItsKey) {
  const std::pair<const char*, EnvConfig> cases[] = {
      {"env.stack", {.name = "grid/courier", .stack = 4}},
      {"env.pixels", {.name = "grid/courier", .pixels = true}},
      {"env.max_pool", {.name = "grid/courier", .repeat = 2, .max_pool = true}}};
  for (const auto& [key, config] : cases) {
    EXPECT_EQ(ErrorOf([&] { SpecOf(config); }),
              std::string(key) + ": grid/courier observes several arrays, and this is for one " +
                  "picture; leave it out");
    EXPECT_THROW(MakeVecEnv(config, 1, {}), UserError) << key;
  }
  EXPECT_EQ(SpecOf({.name = "grid/courier", .repeat = 2, .time_limit = 9}).entries.size(), 3u);
}

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
