// What a policy says of itself, sees, remembers and draws.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "actors/policy.h"
#include "core/action_space.h"
#include "envs/registry.h"
#include "envs/spaces.h"
#include "tests/api/policy_fixture.h"

namespace starling::api {
namespace {

using testing::HasSubstr;

// ---- spaces

TEST_F(PolicyTest, SaysWhatItSeesAndDoes) {
  Save({"env.name=catch", "net.hidden=[32]"});
  const Handle policy = Open(3, false);
  const starling_spaces spaces = SpacesOf(policy);
  EXPECT_STREQ(spaces.env, "catch");
  EXPECT_EQ(spaces.envs, 3);
  EXPECT_EQ(spaces.numbers, 50);
  EXPECT_EQ(spaces.mask, 0);
  EXPECT_EQ(spaces.box, 0);
  EXPECT_EQ(spaces.width, 1);
  EXPECT_EQ(spaces.counts[0], 3);
  EXPECT_EQ(spaces.low, nullptr);
  EXPECT_STREQ(spaces.action_names[2], "right");
  EXPECT_EQ(spaces.outputs, 3);
  EXPECT_EQ(spaces.has_memory, 0);
  EXPECT_EQ(spaces.steps, 1000u);
  ASSERT_EQ(spaces.arrays, 1);
  starling_array array{};
  array.size = sizeof(array);
  ASSERT_EQ(starling_policy_array(policy.get(), 0, &array), STARLING_OK);
  EXPECT_STREQ(array.name, "observation");
  EXPECT_EQ(array.height, 10);
  EXPECT_EQ(array.width, 5);
  EXPECT_EQ(array.channels, 1);
  EXPECT_EQ(array.high, 1);
  EXPECT_EQ(starling_policy_array(policy.get(), 1, &array), STARLING_MISTAKE);
  EXPECT_STREQ(starling_error(), "index is 1: an observation has 1 arrays");
  EXPECT_THAT(starling_policy_config(policy.get()), HasSubstr("name = \"catch\""));
  EXPECT_EQ(starling_policy_checkpoint(policy.get()), path.string());
}

TEST_F(PolicyTest, OfABoxTheBoundsAreTold) {
  Save({"env.name=control/reach", "net.layers=[\"gru 4\"]"});
  const Handle policy = Open(0, true);
  const starling_spaces spaces = SpacesOf(policy);
  const ActionSpace box = envs::SpecOf(config.env).actions;
  EXPECT_EQ(spaces.envs, 1);
  EXPECT_EQ(spaces.box, 1);
  EXPECT_EQ(spaces.width, box.width());
  EXPECT_EQ(spaces.counts, nullptr);
  EXPECT_EQ(spaces.action_names, nullptr);
  EXPECT_EQ(spaces.low[1], box.low[1]);
  EXPECT_EQ(spaces.high[1], box.high[1]);
  EXPECT_EQ(spaces.outputs, 2 * box.width());
  EXPECT_EQ(spaces.has_memory, 1);
}

// Training on an environment in a plug-in that is not on this machine.
TEST_F(PolicyTest, NeedsNoEnvironment) {
  Save({"env.name=catch", "net.hidden=[32]"});
  learner::Checkpoint checkpoint = learner::ReadCheckpoint(path);
  const std::string name = "name = \"catch\"";
  const std::size_t at = checkpoint.config.find(name);
  ASSERT_NE(at, std::string::npos);
  checkpoint.config.replace(at, name.size(), "name = \"plugin:/gone/mine.so\"");
  path = learner::WriteCheckpoint(dir / "checkpoints", checkpoint);
  const Handle policy = Open(1, true);
  ASSERT_NE(policy, nullptr);
  EXPECT_STREQ(SpacesOf(policy).env, "plugin:/gone/mine.so");
  // One of an older program has to ask.
  checkpoint.spaces = "";
  path = learner::WriteCheckpoint(dir / "checkpoints", checkpoint);
  starling_policy* none = policy.get();
  EXPECT_EQ(starling_policy_open(path.c_str(), nullptr, &none), STARLING_MISTAKE);
  EXPECT_EQ(none, nullptr);
  EXPECT_THAT(starling_error(), HasSubstr("plugin:/gone/mine.so is not there any more"));
}

TEST_F(PolicyTest, DamagedSpacesAreNamed) {
  Save({"env.name=catch", "net.hidden=[32]"});
  learner::Checkpoint checkpoint = learner::ReadCheckpoint(path);
  checkpoint.spaces = "{\"height\": 0}";
  path = learner::WriteCheckpoint(dir / "checkpoints", checkpoint);
  starling_policy* policy = nullptr;
  EXPECT_EQ(starling_policy_open(path.c_str(), nullptr, &policy), STARLING_MISTAKE);
  EXPECT_EQ(starling_error(), path.string() + ": the spaces of catch are damaged: {\"height\": 0}");
}

// ---- memory and draws

class MemoryTest : public PolicyTest {
 protected:
  MemoryTest() {
    Save({"env.name=memory/recall", "net.layers=[\"lstm 8\"]"});
    seen.resize(2 * static_cast<std::size_t>(envs::SpecOf(config.env).obs_size()), 0.5f);
  }
  std::vector<float> Values(const Handle& policy, bool act) {
    std::vector<std::int32_t> actions(2);
    std::vector<float> values(2);
    EXPECT_EQ(
        starling_policy_act(policy.get(), seen.data(), nullptr, act ? actions.data() : nullptr),
        STARLING_OK);
    EXPECT_EQ(starling_policy_values(policy.get(), values.data()), STARLING_OK);
    return values;
  }
  std::vector<float> seen;
};

TEST_F(MemoryTest, ValuesAloneLeaveItAsItIs) {
  const Handle policy = Open(2, false);
  const auto first = Values(policy, false);
  EXPECT_EQ(Values(policy, false), first);
  EXPECT_EQ(Values(policy, true), first);
  EXPECT_NE(Values(policy, true), first) << "the memory has moved on";
}

TEST_F(MemoryTest, IsForgottenWhereAnEpisodeBegins) {
  const Handle policy = Open(2, false);
  const auto first = Values(policy, true);
  const auto second = Values(policy, true);
  const std::uint8_t begins[] = {0, 1};
  starling_policy_reset(policy.get(), begins);
  const auto third = Values(policy, false);
  EXPECT_EQ(third[1], first[1]);
  EXPECT_NE(third[0], first[0]);
  EXPECT_EQ(Values(policy, true), third) << "a reset waits for the next action";
  EXPECT_NE(Values(policy, true)[1], first[1]) << "and is done with it";
  starling_policy_reset(policy.get(), nullptr);
  EXPECT_EQ(Values(policy, true), first);
  EXPECT_EQ(Values(policy, true), second);
}

TEST_F(PolicyTest, DrawsAgainFromItsSeed) {
  Save({"env.name=minatar/breakout", "net.hidden=[16]"});
  const Handle policy = Open(1, false);
  const std::vector<float> seen(static_cast<std::size_t>(SpacesOf(policy).numbers), 0.0f);
  const auto draw = [&] {
    std::vector<std::int32_t> drawn(40);
    for (auto& action : drawn) starling_policy_act(policy.get(), seen.data(), nullptr, &action);
    return drawn;
  };
  const auto first = draw();
  EXPECT_NE(draw(), first);
  starling_policy_seed(policy.get(), kSeed);
  EXPECT_EQ(draw(), first);
  starling_policy_seed(policy.get(), kSeed + 1);
  EXPECT_NE(draw(), first);
}

// Of an environment that this machine lacks, whose spaces are all that is known.
TEST_F(PolicyTest, SeveralArraysStandOneAfterTheOther) {
  config = ParseConfig(
      "", "test.toml",
      {"env.name=plugin:/gone/mine.so", "net.kind=layers", "net.layers=[\"linear 8\", \"relu\"]",
       "net.entries=[\"camera: conv 3 2x2, relu\"]"});
  envs::EnvSpec spec{.name = config.env.name, .channels = 15, .action_names = {}, .low = -9};
  spec.entries = {{.name = "camera", .height = 3, .width = 2, .channels = 2},
                  {.name = "joints", .channels = 3, .low = -9}};
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  spec.actions = ActionSpace::Box({-kInfinity, -2}, {kInfinity, 4});
  const net::ParameterLayout layout = results::LayoutOf(config, spec);
  weights = net::InitialParameters(layout, 3, Initialisation::kFanIn);
  path = learner::WriteCheckpoint(
      dir / "checkpoints",
      learner::CheckpointOf(config, layout, envs::SpacesText(spec),
                            {.state = {.weights = weights, .optimizer_state = {}}}));
  const Handle policy = Open(2, true);
  ASSERT_NE(policy, nullptr);
  const starling_spaces spaces = SpacesOf(policy);
  EXPECT_EQ(spaces.arrays, 2);
  EXPECT_EQ(spaces.numbers, 15);
  EXPECT_EQ(spaces.low[0], -kInfinity);
  starling_array array{};
  array.size = sizeof(array);
  starling_policy_array(policy.get(), 1, &array);
  EXPECT_STREQ(array.name, "joints");
  EXPECT_EQ(array.channels, 3);
  EXPECT_EQ(array.low, -9);

  actors::Policy ours(config, spec, weights, 2, kSeed, true);
  std::vector<float> seen;
  for (int i = 0; i < 30; ++i) seen.push_back(static_cast<float>(i % 4) / 3);
  std::ranges::copy(seen, ours.rows().begin());
  std::vector<std::int32_t> words(4);
  ours.Act(words);
  std::vector<float> actions(4);
  ASSERT_EQ(starling_policy_act(policy.get(), seen.data(), nullptr, actions.data()), STARLING_OK)
      << starling_error();
  EXPECT_EQ(actions[0], FloatOf(words[0])) << "nothing bounds it";
  EXPECT_EQ(actions[3], std::clamp(FloatOf(words[3]), -1.0f, 1.0f) * 3 + 1) << "from -2 to 4";
}

}  // namespace
}  // namespace starling::api
