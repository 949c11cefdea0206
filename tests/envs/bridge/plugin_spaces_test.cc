// Plug-ins of every action space, with masks and several entries: as training plays them, isolated
// and saved.
#include <gmock/gmock.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "core/state_bytes.h"
#include "envs/bridge/bridge.h"
#include "envs/bridge/plugin_library.h"
#include "envs/registry.h"
#include "tests/envs/bridge/plugin_fixture.h"
#include "tests/envs/repeat_fixture.h"
#include "tests/envs/state_fixture.h"
#include "tests/support/error_of.h"

namespace starling::envs {
namespace {

using testing::HasSubstr;

constexpr EnvSeed kSpaceSeed{.seed = 5, .slot = 2, .life = 1};
constexpr const char* kSpacePlugins[] = {"levers", "levers_truncated", "drift", "doors"};

// The contract of envs/env.h (tests/envs/conformance_test.cc), in this process and isolated.
class PluginSpaces : public testing::TestWithParam<const char*> {
 protected:
  static EnvConfig Named(bool isolate) {
    EnvConfig config = Isolated(GetParam(), 2);
    config.isolate = isolate;
    return config;
  }
};

TEST_P(PluginSpaces, KeepsItsBoundsAndLeavesAChoice) {
  RandomPlay play(MakeVecEnv(Named(false), 3, kSpaceSeed));
  const EnvSpec& spec = play.env->spec();
  const auto observed = static_cast<std::size_t>(spec.obs_size());
  RandomStream random(StreamId{.seed = 4});
  std::size_t ends = 0;
  for (int step = 0; step < 300; ++step) {
    for (std::size_t i = 0; i < play.envs(); ++i) {
      const auto row = std::span(play.seen).subspan(i * play.row, play.row);
      for (const float value : row.first(observed)) {
        ASSERT_TRUE(value >= spec.low && value <= spec.high);
      }
      auto mask = row.subspan(observed);
      for (const float value : mask) ASSERT_TRUE(value == 0 || value == 1);
      for (const std::int32_t count : spec.actions.counts) {
        if (!spec.actions.masked) break;
        const auto values = mask.first(static_cast<std::size_t>(count));
        ASSERT_NE(std::ranges::count(values, 1.0f), 0);
        mask = mask.subspan(values.size());
      }
      play.DrawAction(i, random);
    }
    play.Step();
    for (const float reward : play.rewards) ASSERT_GT(reward, -10);  // for a forbidden value
    ends += static_cast<std::size_t>(
        std::ranges::count_if(play.ends, [](std::uint8_t end) { return end != 0; }));
  }
  EXPECT_GT(ends, 20u);
}

TEST_P(PluginSpaces, PlaysTheSameIsolated) {
  const auto here = MakePluginFrames(Named(false), 3, kSpaceSeed),
             there = MakePluginFrames(Named(true), 3, kSpaceSeed);
  EXPECT_EQ(here->spec().env.entries, there->spec().env.entries);
  EXPECT_EQ(here->spec().env.actions, there->spec().env.actions);
  EXPECT_EQ(here->spec().env.action_names, there->spec().env.action_names);
  const Played played = PlayRandomly(*here, 300);
  EXPECT_EQ(played.seen, PlayRandomly(*there, 300).seen);
  EXPECT_GT(played.ends.size(), 20u);
  EXPECT_EQ(Count(played, End::kCut), 0);
}

TEST_P(PluginSpaces, ARepeatedActionIsSoManyFrames) {
  EnvConfig config = Named(false);
  config.repeat = 4;
  config.max_pool = true;
  for (const bool isolate : {false, true}) {
    config.isolate = isolate;
    const auto whole = MakePluginFrames(config, 1, kSpaceSeed),
               single = MakePluginFrames(config, 1, kSpaceSeed);
    EXPECT_GT(ExpectTheSameFrameByFrame(*whole, *single, 200), 3);
  }
}

TEST_P(PluginSpaces, GoesOnFromASavedState) {
  for (const bool isolate : {false, true}) {
    RandomPlay one(MakeVecEnv(Named(isolate), 3, kSpaceSeed)),
        other(MakeVecEnv(Named(isolate), 3, {.seed = 9}));
    ASSERT_EQ(one.env->WhyNotSaved(), "");
    one.Play(0, 103);
    const State state = Saved(*one.env);
    EXPECT_EQ(Saved(*one.env), state);
    other.Play(0, 10);
    other.env->Restore(state);
    other.seen = one.seen;  // an observation is not a part of the state
    EXPECT_EQ(other.Play(103, 300), one.Play(103, 300));
    EXPECT_EQ(Saved(*other.env), Saved(*one.env));
  }
}

INSTANTIATE_TEST_SUITE_P(All, PluginSpaces, testing::ValuesIn(kSpacePlugins),
                         [](const auto& plugin) { return std::string(plugin.param); });

// Sticky actions of a box, drawn for both kinds alike.
TEST(PluginFrames, ABoxMayHaveStickyActions) {
  EnvConfig config = Isolated("drift", 2);
  config.sticky_actions = 0.5;
  const Played there = PlayRandomly(*MakePluginFrames(config, 3, kSpaceSeed), 200);
  config.isolate = false;
  EXPECT_EQ(there.seen, PlayRandomly(*MakePluginFrames(config, 3, kSpaceSeed), 200).seen);
}

TEST(IsolatedPlugin, AMaskThatForbidsEverythingCostsAnEpisode) {
  const auto envs = MakePluginFrames(Isolated("wrong_mask_empty"), 2, kSpaceSeed);
  const Played played = PlayRandomly(*envs, 80);
  EXPECT_GT(Count(played, End::kCut), 1);
  EXPECT_GT(Count(played, End::kTerminated), 1);  // episodes too short to come to the mistake
}

TEST(IsolatedPlugin, ATableOfAnotherVersionIsTheUsersMistake) {
  EXPECT_THAT(ErrorOf([] { PluginSpec(Isolated("wrong_version_3")); }),
              HasSubstr("abi_version 3, this Starling speaks 1 and 2"));
}

// Wrappers that an action or an observation cannot have are refused by name.
TEST(Registry, RefusesWrappersOfAMaskedPlugin) {
  EnvConfig config = PluginNamed("levers");
  config.repeat = 2;
  EXPECT_THAT(ErrorOf([&] { SpecOf(config); }), HasSubstr("env.repeat"));
  config = PluginNamed("levers");
  config.stack = 2;
  EXPECT_THAT(ErrorOf([&] { SpecOf(config); }), HasSubstr("env.stack"));
}

// The example, built for version 1 and for version 2: the same episodes, and the second goes on
// from the state of the first.
TEST(PluginFrames, VersionsOfATablePlayTheSame) {
  const EnvConfig second{.name = std::string("plugin:") + STARLING_GLIDER};
  const EnvConfig first = PluginNamed("glider_first");
  ASSERT_NE(LoadPlugin(PluginPath("glider_first")).first_step, nullptr);
  ASSERT_EQ(LoadPlugin(STARLING_GLIDER).first_step, nullptr);
  const auto old = MakePluginFrames(first, 2, kSpaceSeed),
             now = MakePluginFrames(second, 2, kSpaceSeed),
             restored = MakePluginFrames(second, 2, {.seed = 9});
  EXPECT_EQ(PlayRandomly(*old, 200).seen, PlayRandomly(*now, 200).seen);
  std::vector<std::byte> old_state, now_state;
  SaveState(*old, old_state);
  SaveState(*now, now_state);
  EXPECT_EQ(old_state, now_state);
  RestoreState(*restored, old_state);
  EXPECT_EQ(PlayRandomly(*restored, 100).seen, PlayRandomly(*now, 100).seen);
}

}  // namespace
}  // namespace starling::envs
