#include "envs/bridge/plugin_library.h"

#include <gmock/gmock.h>

#include <array>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/error.h"
#include "envs/plugin.hpp"
#include "tests/envs/bridge/plugin_fixture.h"
#include "tests/support/error_of.h"

namespace starling::envs {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

std::shared_ptr<const PluginLibrary> Library(const std::string& name) {
  return std::make_shared<PluginLibrary>(LoadPlugin(PluginPath(name)));
}

// A step of one choice.
FrameResult StepOne(PluginEnv& env, std::int32_t choice, std::span<float> frame) {
  return env.Step(std::span(&choice, 1), frame);
}

// Plays until it fails, for at most 100 episodes; env 7.
std::string FailureOf(const std::string& name) {
  return ErrorOf([&] {
    const auto library = Library(name);
    std::vector<float> frame(static_cast<std::size_t>(library->spec.env.obs_size()));
    PluginEnv env(library, "env 7", 1);
    for (int episode = 0; episode < 100; ++episode) {
      env.Reset(frame);
      while (StepOne(env, 0, frame).end == End::kRunning) {
      }
    }
  });
}

// Each goes wrong in its second step (except create and reset).
TEST(PluginEnv, AMistakeIsNamedWithPluginEnvAndStep) {
  const std::pair<const char*, const char*> cases[] = {
      // and the end of the error
      {"wrong_create", "(counter), env 7, step 0: create failed: nothing could be made"},
      {"wrong_reset", "env 7, step 0: reset failed: the dice fell from the table"},
      {"wrong_step", "env 7, step 2: step failed: the dice fell from the table"},
      {"wrong_observe", "step 2: observe failed: the dice fell from the table"},
      {"wrong_lives", "step 2: lives failed: the dice fell from the table"},
      {"wrong_reward_nan", "step 2: the reward is nan, which is not finite"},
      {"wrong_reward_infinite", "step 2: the reward is -inf, which is not finite"},
      {"wrong_seen_nan", "observed value 4 is nan, which is not finite (or was not written)"},
      {"wrong_seen_infinite", "observed value 4 is inf, which is not finite (or was not written)"},
      {"wrong_unwritten", "observed value 4 is nan, which is not finite (or was not written)"},
      {"wrong_seen_high", "step 2: observed value 4 is 10.5, outside of 0 to 10"},
      {"wrong_seen_low", "step 2: observed value 4 is -1, outside of 0 to 10"},
      {"wrong_overrun", "step 2: observe wrote more than its 6 values"},
      {"wrong_end",
       "step 2: its end is 3, not one of STARLING_RUNNING, STARLING_TERMINATED and "
       "STARLING_TRUNCATED"},
      {"throws", "(throws), env 7, step 2: step failed: out of cards"},
      {"throws_raw", "env 7, step 1: step threw an exception (nobody caught me)"}};
  for (const auto& [plugin, sentence] : cases) {
    EXPECT_THAT(FailureOf(plugin),
                AllOf(HasSubstr("plugin \"" + PluginPath(plugin) + "\" ("), EndsWith(sentence)));
  }
}

TEST(PluginEnvDeathTest, AnExitIsASentenceAndNotItsStatus) {
  EXPECT_EXIT(FailureOf("wrong_exit"), testing::ExitedWithCode(kExitUserError),
              "wrong_exit.so\": its step called exit: a plug-in must return instead");
  EXPECT_EXIT(FailureOf("wrong_exit_reset"), testing::ExitedWithCode(kExitUserError),
              "its reset called exit");
}

TEST(PluginEnv, PlaysAsThePluginSays) {
  PluginEnv env(Library("counter"), "env 0", 1);
  std::array<float, 6> frame{};
  const FrameResult first = env.Reset(frame);
  EXPECT_EQ(first.reward, 0);
  EXPECT_EQ(first.end, End::kRunning);
  EXPECT_EQ(first.lives, 1);
  const float length = frame[1];
  EXPECT_THAT(frame, ElementsAre(0, length, 0, 0, 0, 0));
  // Up to the last step the counter goes on.
  for (float step = 1; step < length; ++step) {
    const FrameResult result = StepOne(env, 1, frame);
    EXPECT_EQ(result.reward, 1);
    EXPECT_EQ(result.end, End::kRunning);
    EXPECT_EQ(result.lives, 1);
    EXPECT_THAT(frame, ElementsAre(step, length, 1, 0, 0, 0));
  }
  const FrameResult last = StepOne(env, 0, frame);
  EXPECT_EQ(last.reward, 0);
  EXPECT_EQ(last.end, End::kTerminated);
  EXPECT_EQ(last.lives, 0);
  EXPECT_THAT(frame, ElementsAre(length, length, 0, 0, 0, 0));
}

// Lengths are 2 + seed % 4: all four come up, in an order that the seed decides.
TEST(PluginEnv, EveryEpisodeHasASeedOfItsOwn) {
  const auto lengths = [](std::uint64_t seed) {
    PluginEnv env(Library("counter"), "env 0", seed);
    std::vector<float> all;
    std::array<float, 6> frame{};
    for (int episode = 0; episode < 64; ++episode) {
      env.Reset(frame);
      all.push_back(frame[1]);
    }
    return all;
  };
  const std::vector<float> some = lengths(5);
  EXPECT_EQ(some, lengths(5));
  EXPECT_NE(some, lengths(6));
  for (const float length : {2.0f, 3.0f, 4.0f, 5.0f}) EXPECT_THAT(some, testing::Contains(length));
}

TEST(PluginEnv, AMovedEnvPlaysOn) {
  PluginEnv env(Library("counter"), "env 0", 1);
  std::array<float, 6> frame{};
  env.Reset(frame);
  PluginEnv moved(std::move(env));
  StepOne(moved, 1, frame);
  EXPECT_EQ(frame[0], 1);
}

// Bounds and lives as envs/plugin.hpp takes them from the class.
TEST(PluginHeader, TakesBoundsAndLivesFromTheClass) {
  const auto library = Library("throws");
  EXPECT_EQ(library->spec.env.low, -1);
  EXPECT_EQ(library->spec.env.high, 2);
  EXPECT_TRUE(library->spec.lives);
  PluginEnv env(library, "env 0", 1);
  std::array<float, 1> frame{};
  EXPECT_EQ(env.Reset(frame).lives, 3);
  EXPECT_EQ(frame[0], -1);
}

// Bounds beyond a member's type, a float at its bound, and a member beyond its bounds.
TEST(PluginHeader, BoundsAreComparedAsTheyAre) {
  std::uint8_t steps = 250;
  plugin::State state;
  state(steps, 0, 300);
  steps = 0;
  plugin::State(state.bytes().data(), state.bytes().size())(steps, 0, 300);
  EXPECT_EQ(steps, 250);

  float speed = 0.07f;
  plugin::State()(speed, -0.07, 0.07);

  std::int32_t place = -1;
  EXPECT_THAT([&] { plugin::State()(place, 0u, 4u); },
              testing::ThrowsMessage<std::runtime_error>(
                  "a member is -1, outside of the bounds that Fields gives it"));
  state = {};
  state(place);
  EXPECT_THAT(
      [&] { plugin::State(state.bytes().data(), state.bytes().size())(place, 0u, 4u); },
      testing::ThrowsMessage<std::runtime_error>("these bytes are no state of this environment"));
}

}  // namespace
}  // namespace starling::envs
