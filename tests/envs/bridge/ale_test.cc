// Atari games without Gymnasium ("ale:pong").
#include <gmock/gmock.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/random.h"
#include "envs/bridge/bridge.h"
#include "envs/registry.h"
#include "tests/envs/bridge/gym_fixture.h"
#include "tests/envs/env_bench.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"

namespace starling::envs {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using Commands = std::vector<std::int32_t>;

// As configs/ale_pong_a3c.toml, without chance.
EnvConfig AleConfig(const std::string& name, const std::string& options = "") {
  EnvConfig config = GymConfig("", options);
  config.name = name;
  config.sticky_actions = 0;
  config.repeat = 4;
  config.max_pool = config.pixels = true;
  return config;
}

// All that is seen of `steps` random steps, with the number of episodes that ended.
struct Watched {
  std::vector<float> all;
  int ends = 0;
};

Watched Watch(const EnvConfig& config, int num_envs, int steps, std::uint64_t seed = 1) {
  EnvBench bench(MakeVecEnv(config, num_envs, {.seed = seed}));
  RandomStream chance({.seed = 5});
  Watched seen{.all = bench.seen};
  for (int step = 0; step < steps; ++step) {
    Commands actions;
    for (int i = 0; i < num_envs; ++i) {
      actions.push_back(static_cast<std::int32_t>(
          chance.Below(static_cast<std::uint32_t>(bench.env->spec().actions.values()))));
    }
    bench.Step(actions);
    seen.all.insert(seen.all.end(), bench.seen.begin(), bench.seen.end());
    seen.all.insert(seen.all.end(), bench.rewards.begin(), bench.rewards.end());
    seen.all.insert(seen.all.end(), bench.ends.begin(), bench.ends.end());
    for (const Truncated& last : bench.env->truncated()) {
      seen.all.insert(seen.all.end(), last.observation.begin(), last.observation.end());
    }
    for (const std::uint8_t end : bench.ends) seen.ends += end != 0;
  }
  return seen;
}

TEST(Ale, AGameIsWanted) {
  EXPECT_THAT(SpecErrorOf({.name = "ale:", .python = "/bin/sh"}),
              AllOf(HasSubstr("needs the id of an env"), HasSubstr("\"ale:pong\"")));
}

TEST(Ale, WithoutAleASentenceSaysWhatToDo) {
  const TempDir dir;
  const auto python = dir.Write("python", "#!/bin/sh\nexec python3 -S -I \"$@\"\n");
  std::filesystem::permissions(python, std::filesystem::perms::owner_all);
  EXPECT_THAT(
      SpecErrorOf({.name = "ale:pong", .python = python.string()}),
      AllOf(HasSubstr("ale:pong: "), HasSubstr("cannot import"), HasSubstr("scripts/setup --gym")));
}

TEST(Ale, MistakesAreSentences) {
  STARLING_NEEDS_GYM("ALE/Pong-v5");
  EXPECT_THAT(SpecErrorOf(AleConfig("ale:Pong")), HasSubstr("did you mean \"ale:pong\"?"));
  EXPECT_THAT(SpecErrorOf(AleConfig("ale:pong", R"({"frameskip": 2})")),
              HasSubstr("\"frameskip\", which is none of full_action_space"));
  EXPECT_THAT(SpecErrorOf(AleConfig("ale:pong", R"({"full_action_space": 1})")),
              HasSubstr("\"full_action_space\" is true or false, not 1"));
  EXPECT_THAT(SpecErrorOf(AleConfig("ale:pong", R"({"difficulty": "hard"})")),
              HasSubstr("\"difficulty\" is a whole number from 0 to 2147483647, not \"hard\""));
  EXPECT_THAT(SpecErrorOf(AleConfig("ale:pong", R"({"mode": 99})")),
              HasSubstr("\"mode\" = 99 is none that the game has: 0, 1"));
  EXPECT_THAT(SpecErrorOf(AleConfig("ale:pong", R"({"max_num_frames_per_episode": 2147483648})")),
              HasSubstr("from 0 to 2147483647, not 2147483648"));
  EXPECT_THAT(SpecErrorOf(AleConfig("ale:combat")), HasSubstr("does not support the game"));
  EnvConfig config = AleConfig("ale:pong");
  config.action_set = ActionSet::kMinimal;
  EXPECT_THAT(SpecErrorOf(config), HasSubstr("env.action_set"));
  config = AleConfig("ale:pong");
  config.isolate = true;
  EXPECT_THAT(SpecErrorOf(config), HasSubstr("env.isolate"));
  EXPECT_THAT(WhyNotSaved(AleConfig("ale:pong")), HasSubstr("played by ale-py"));
  EXPECT_THAT(WhyNotOnGpu(AleConfig("ale:pong")), HasSubstr("played by ale-py"));
}

TEST(Ale, ShowsGreyFramesSmallOrWhole) {
  STARLING_NEEDS_GYM("ALE/Breakout-v5");
  EnvConfig config = AleConfig("ale:breakout");
  config.stack = 4;
  EnvSpec spec = SpecOf(config);
  EXPECT_EQ(spec.name, "ale:breakout");
  EXPECT_THAT((std::vector{spec.height, spec.width, spec.channels}), ElementsAre(84, 84, 4));
  EXPECT_THAT(spec.action_names, ElementsAre("NOOP", "FIRE", "RIGHT", "LEFT"));
  config.stack = 1;
  config.pixels = false;
  spec = SpecOf(config);
  EXPECT_THAT((std::vector{spec.height, spec.width, spec.channels}), ElementsAre(210, 160, 1));
  config.options = R"({"full_action_space": true})";
  EXPECT_EQ(SpecOf(config).actions.values(), 18);
}

class AleGames : public testing::TestWithParam<std::pair<const char*, const char*>> {};

// The same pixels, rewards and ends, with the final observations and all that is drawn by chance.
TEST_P(AleGames, PlaysAsThroughGymnasium) {
  const auto [rom, id] = GetParam();
  STARLING_NEEDS_GYM(id);
  for (const bool whole : {true, false}) {
    EnvConfig ours = AleConfig(rom), theirs = AleConfig(std::string(kGymPrefix) + id);
    for (EnvConfig* config : {&ours, &theirs}) {
      config->sticky_actions = -1;
      config->noop_max = 30;
      config->life_loss_ends = !whole;
      config->time_limit = whole ? 0 : 70;
      config->stack = whole ? 4 : 1;
    }
    const int steps = whole ? 1100 : 150;
    const Watched a = Watch(ours, 2, steps), b = Watch(theirs, 2, steps);
    EXPECT_GT(a.ends, 0);
    EXPECT_TRUE(a.all == b.all);
  }
}

INSTANTIATE_TEST_SUITE_P(Some, AleGames,
                         testing::Values(std::pair("ale:breakout", "ALE/Breakout-v5"),
                                         std::pair("ale:pong", "ALE/Pong-v5"),
                                         std::pair("ale:carnival", "ALE/Carnival-v5"),
                                         std::pair("ale:space_invaders", "ALE/SpaceInvaders-v5")),
                         [](const auto& tested) {
                           return std::string(tested.param.first).substr(4);
                         });

TEST(Ale, SameSeedSameEpisodesHoweverTheyAreSpread) {
  STARLING_NEEDS_GYM("ALE/Breakout-v5");
  EnvConfig config = AleConfig("ale:breakout");
  config.sticky_actions = -1;
  config.noop_max = 30;
  config.per_process = 3;
  const Watched together = Watch(config, 3, 200);
  EXPECT_GT(together.ends, 0);
  config.per_process = 1;
  EXPECT_TRUE(Watch(config, 3, 200).all == together.all);
  config.sticky_actions = 0.25;
  EXPECT_TRUE(Watch(config, 3, 200).all == together.all) << "what \"auto\" is";
  EXPECT_FALSE(Watch(config, 3, 200, 2).all == together.all) << "another seed";
  config.sticky_actions = 0;
  EXPECT_FALSE(Watch(config, 3, 200).all == together.all);
}

// In any of the four frames of an action.
TEST(Ale, ItsOwnLimitTruncatesAsThroughGymnasium) {
  STARLING_NEEDS_GYM("ALE/Breakout-v5");
  for (const int frames : {41, 42, 43, 44}) {
    const std::string options = R"({"max_num_frames_per_episode": )" + std::to_string(frames) + "}";
    EnvConfig ours = AleConfig("ale:breakout", options);
    EnvConfig theirs = AleConfig("gym:ALE/Breakout-v5", options);
    ours.life_loss_ends = theirs.life_loss_ends = frames % 2 == 0;
    const Watched seen = Watch(ours, 2, 40);
    EXPECT_EQ(seen.ends, 6);
    EXPECT_TRUE(seen.all == Watch(theirs, 2, 40).all) << frames;
  }
}

TEST(Ale, HasModesAndDifficulties) {
  STARLING_NEEDS_GYM("ALE/Breakout-v5");
  const std::string other = R"({"mode": 4, "difficulty": 1})";
  const Watched ours = Watch(AleConfig("ale:breakout", other), 1, 60);
  EXPECT_TRUE(ours.all == Watch(AleConfig("gym:ALE/Breakout-v5", other), 1, 60).all);
  EXPECT_FALSE(ours.all == Watch(AleConfig("ale:breakout"), 1, 60).all);
}

TEST(Ale, ALostLifeEndsForTrainingAlone) {
  STARLING_NEEDS_GYM("ALE/Breakout-v5");
  EnvConfig config = AleConfig("ale:breakout");
  config.life_loss_ends = true;
  EnvBench bench(MakeVecEnv(config, 1, {}));
  std::vector<EpisodeEnd> episodes;
  int lost = 0;
  for (int step = 0; episodes.empty(); ++step) {
    ASSERT_LT(step, 2000);
    bench.Step({1});
    lost += bench.ends[0] == static_cast<std::uint8_t>(End::kTerminated);
    bench.env->TakeEpisodes(episodes);
  }
  EXPECT_EQ(lost, 5);
}

}  // namespace
}  // namespace starling::envs
