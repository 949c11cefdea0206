#include "envs/wrappers/wrapped.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "envs/registry.h"
#include "tests/envs/repeat_fixture.h"

namespace starling::envs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Envs whose episodes the test scripts. The frame is a vector (env, frames since the reset,
// action); the reward is 1 a frame.
class Scripted final : public FrameEnvs {
 public:
  Scripted(int num_envs, const Repeat& repeat)
      : FrameEnvs(repeat),
        envs_(static_cast<std::size_t>(num_envs)),
        seen_(envs_.size(), 3, repeat.keep_before) {
    spec_.env = {.name = "scripted",
                 .channels = 3,
                 .num_actions = 10,
                 .action_names = std::vector<std::string>(10, "a"),
                 .high = 1000};
    spec_.lives = true;
  }

  // Called after every frame of an env, with the frames since its reset and the frame's result.
  std::function<void(int env, int frame, FrameResult& result)> rule;
  // Every Advance: its commands and, behind them, how many frames.
  std::vector<std::vector<std::int32_t>> asked;

  const FrameSpec& spec() const override { return spec_; }
  int size() const override { return static_cast<int>(envs_.size()); }
  const FrameResult& result(int env) const override { return envs_[std::size_t(env)].result; }
  std::span<const std::uint8_t> bytes(int) const override { return {}; }
  std::span<const float> floats(int env) const override { return seen_.newest(env); }
  std::span<const float> floats_before(int env) const override { return seen_.before(env); }

 private:
  struct One {
    FrameResult result{};
    int frame = 0;
    bool over = true;
  };

  // Notes the commands, then plays each env by `rule`.
  void Play(std::span<const std::int32_t> commands, int frames) override {
    asked.emplace_back(commands.begin(), commands.end());
    asked.back().push_back(frames);
    for (int i = 0; i < size(); ++i) {
      One& env = envs_[std::size_t(i)];
      const std::int32_t command = commands[std::size_t(i)];
      if (command == kSkip) continue;
      EXPECT_TRUE(command == kReset || !env.over) << "env " << i << " is over";
      if (command == kReset) {
        env = One{.result = {.lives = 3}, .over = false};
        Show(i, 0);
        continue;
      }
      env.result = PlayRepeated(repeat(), frames, env.result.lives, [&] {
        FrameResult result{.reward = 1, .lives = env.result.lives};
        ++env.frame;
        if (rule) rule(i, env.frame, result);
        Show(i, command);
        return result;
      });
      env.over = env.result.end != End::kRunning;
    }
  }
  void Show(int env, std::int32_t action) {
    std::ranges::copy(
        std::array{static_cast<float>(env), static_cast<float>(envs_[std::size_t(env)].frame),
                   static_cast<float>(action)},
        seen_.Next(env).begin());
  }

  FrameSpec spec_;
  std::vector<One> envs_;
  KeptFrames<float> seen_;
};

class WrappedTest : public testing::Test {
 protected:
  void Make(const EnvConfig& config, int num_envs = 1) {
    auto frames = std::make_unique<Scripted>(num_envs, RepeatOf(config));
    game = frames.get();
    env = std::make_unique<WrappedEnv>(std::move(frames), EnvSeed{.seed = 5}, config);
    seen.resize(static_cast<std::size_t>(num_envs * env->spec().obs_size()));
    rewards.resize(static_cast<std::size_t>(num_envs));
    ends.resize(static_cast<std::size_t>(num_envs));
  }
  void Step(const std::vector<std::int32_t>& actions) { env->Step(actions, seen, rewards, ends); }
  // The final observations of env 0, 1, ... that were truncated; each begins with its env's number.
  std::vector<std::vector<float>> Finals() const {
    std::vector<std::vector<float>> finals;
    for (const Truncated& truncated : env->truncated()) {
      finals.emplace_back(truncated.observation.begin(), truncated.observation.end());
      EXPECT_EQ(truncated.env, static_cast<int>(finals.back().at(0)));
    }
    return finals;
  }
  std::vector<EpisodeEnd> Episodes() {
    std::vector<EpisodeEnd> episodes;
    env->TakeEpisodes(episodes);
    return episodes;
  }
  static void EndAt(int frame, int at, FrameResult& result, End end = End::kTerminated) {
    if (frame == at) result.end = end;
  }

  Scripted* game = nullptr;
  std::unique_ptr<WrappedEnv> env;
  std::vector<float> seen, rewards;
  std::vector<std::uint8_t> ends;
};

constexpr auto kOver = static_cast<std::uint8_t>(End::kTerminated);
constexpr auto kCutOff = static_cast<std::uint8_t>(End::kTruncated);

TEST_F(WrappedTest, WithoutWrappersAStepIsAFrameAndAnEndAReset) {
  Make({}, 2);
  game->rule = [](int i, int frame, FrameResult& result) {
    if (i == 1) EndAt(frame, 2, result);
  };
  env->Reset(seen);
  EXPECT_THAT(seen, ElementsAre(0, 0, 0, 1, 0, 0));
  Step({4, 5});
  EXPECT_THAT(seen, ElementsAre(0, 1, 4, 1, 1, 5));
  EXPECT_THAT(ends, ElementsAre(0, 0));
  Step({6, 7});
  EXPECT_THAT(seen, ElementsAre(0, 2, 6, 1, 0, 0)) << "env 1 shows its next episode";
  EXPECT_THAT(ends, ElementsAre(0, kOver));
  EXPECT_THAT(rewards, ElementsAre(1, 1));
  const auto episodes = Episodes();
  ASSERT_EQ(episodes.size(), 1u);
  EXPECT_EQ(episodes[0].env, 1);
  EXPECT_EQ(episodes[0].episode_return, 2);
  EXPECT_EQ(episodes[0].length, 2);
  EXPECT_EQ(episodes[0].end, End::kTerminated);
  EXPECT_THAT(Episodes(), IsEmpty());
}

TEST_F(WrappedTest, AnActionIsRepeatedUntilAnEnd) {
  Make({.repeat = 4}, 2);
  game->rule = [](int i, int frame, FrameResult& result) {
    if (i == 0) EndAt(frame, 6, result);
  };
  env->Reset(seen);
  game->asked.clear();
  Step({3, 4});
  EXPECT_THAT(rewards, ElementsAre(4, 4));
  Step({3, 4});  // env 0 ends in its second frame, env 1 plays all four
  EXPECT_THAT(rewards, ElementsAre(2, 4));
  EXPECT_THAT(ends, ElementsAre(kOver, 0));
  EXPECT_THAT(game->asked, ElementsAre(ElementsAre(3, 4, 4), ElementsAre(3, 4, 4),
                                       ElementsAre(FrameEnvs::kReset, FrameEnvs::kSkip, 1)))
      << "an Advance a step";
  const auto episodes = Episodes();
  ASSERT_EQ(episodes.size(), 1u);
  EXPECT_EQ(episodes[0].episode_return, 6);
  EXPECT_EQ(episodes[0].length, 2) << "counted in the agent's steps";
}

TEST_F(WrappedTest, TheMaximumOfTheLastTwoFramesIsSeen) {
  Make({.repeat = 3, .max_pool = true});
  env->Reset(seen);
  EXPECT_THAT(seen, ElementsAre(0, 0, 0)) << "the first frame stands alone";
  Step({5});
  EXPECT_THAT(seen, ElementsAre(0, 3, 5));
  Make({.repeat = 2, .max_pool = true});
  env->Reset(seen);
  Step({7});
  Step({2});
  EXPECT_THAT(seen, ElementsAre(0, 4, 2)) << "both frames are of the second action";
  Make({.repeat = 3, .max_pool = true, .life_loss_ends = true});
  game->rule = [](int, int frame, FrameResult& result) { result.lives -= frame == 4; };
  env->Reset(seen);
  Step({7});
  Step({2});
  EXPECT_THAT(seen, ElementsAre(0, 4, 7)) << "one frame was played: the other is of the first";
}

// An agent sees an end with every life; the episode, its return and its length span all lives.
TEST_F(WrappedTest, ALostLifeIsAnEndThatGoesOn) {
  Make({.repeat = 4, .life_loss_ends = true});
  game->rule = [](int, int frame, FrameResult& result) {
    if (frame == 2) result.lives = 2;
    EndAt(frame, 7, result);
  };
  env->Reset(seen);
  Step({1});
  EXPECT_THAT(ends, ElementsAre(kOver));
  EXPECT_THAT(rewards, ElementsAre(2)) << "the repeat stops with the life";
  EXPECT_THAT(seen, ElementsAre(0, 2, 1)) << "the game was not reset";
  EXPECT_THAT(Episodes(), IsEmpty());
  Step({1});
  EXPECT_THAT(ends, ElementsAre(0)) << "the same two lives";
  Step({1});
  EXPECT_THAT(ends, ElementsAre(kOver));
  EXPECT_THAT(seen, ElementsAre(0, 0, 0));
  const auto episodes = Episodes();
  ASSERT_EQ(episodes.size(), 1u);
  EXPECT_EQ(episodes[0].episode_return, 7) << "of all lives";
  EXPECT_EQ(episodes[0].length, 3);
}

TEST_F(WrappedTest, ALostLifeIsNothingUnlessAskedFor) {
  Make({});
  game->rule = [](int, int, FrameResult& result) { result.lives = 1; };
  env->Reset(seen);
  Step({1});
  EXPECT_THAT(ends, ElementsAre(0));
}

TEST_F(WrappedTest, RewardsAreClippedAndReturnsAreNot) {
  Make({.reward_clip = 1});
  const float plan[] = {3, -2, 0.5};
  game->rule = [&](int, int frame, FrameResult& result) {
    result.reward = plan[frame - 1];
    EndAt(frame, 3, result);
  };
  env->Reset(seen);
  Step({0});
  EXPECT_THAT(rewards, ElementsAre(1));
  Step({0});
  EXPECT_THAT(rewards, ElementsAre(-1));
  Step({0});
  EXPECT_THAT(rewards, ElementsAre(0.5));
  EXPECT_EQ(Episodes().at(0).episode_return, 1.5);
}

TEST_F(WrappedTest, WhatATruncatedEpisodeWouldHaveShownNextIsKept) {
  Make({.repeat = 2, .time_limit = 3});
  env->Reset(seen);
  for (const std::int32_t action : {5, 6}) Step({action});
  EXPECT_THAT(Finals(), IsEmpty());
  Step({7});
  EXPECT_THAT(ends, ElementsAre(kCutOff));
  EXPECT_THAT(seen, ElementsAre(0, 0, 0)) << "the next episode";
  EXPECT_THAT(Finals(), ElementsAre(ElementsAre(0, 6, 7)));
  const auto episodes = Episodes();
  ASSERT_EQ(episodes.size(), 1u);
  EXPECT_EQ(episodes[0].length, 3) << "counted in the agent's steps";
  EXPECT_EQ(episodes[0].end, End::kTruncated);
  Step({8});
  EXPECT_THAT(seen, ElementsAre(0, 2, 8));
  EXPECT_THAT(Finals(), IsEmpty()) << "of the last step only";
  for (int i = 0; i < 2; ++i) Step({9});
  EXPECT_THAT(Finals(), ElementsAre(ElementsAre(0, 6, 9)));
  env->Reset(seen);
  EXPECT_THAT(Finals(), IsEmpty());
}

TEST_F(WrappedTest, AFinalObservationIsStackedAndTheNextEpisodeHasNothingOfIt) {
  Make({.time_limit = 3, .stack = 2});
  env->Reset(seen);
  for (const std::int32_t action : {5, 6, 7}) Step({action});
  EXPECT_THAT(Finals(), ElementsAre(ElementsAre(0, 2, 6, 0, 3, 7)));
  EXPECT_THAT(seen, ElementsAre(0, 0, 0, 0, 0, 0));
  Step({8});
  EXPECT_THAT(seen, ElementsAre(0, 0, 0, 0, 1, 8));
  Make({.time_limit = 1, .stack = 4});
  env->Reset(seen);
  for (const std::int32_t action : {5, 6}) {
    Step({action});
    const auto taken = static_cast<float>(action);
    EXPECT_THAT(Finals(), ElementsAre(ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, taken)))
        << "the first frame stands for those before it";
  }
}

TEST_F(WrappedTest, AFinalObservationIsPooled) {
  Make({.noop_max = 3, .repeat = 3, .max_pool = true});
  env->Reset(seen);
  const float begun = seen[1];  // no-ops
  game->rule = [&](int, int frame, FrameResult& result) {
    if (static_cast<float>(frame) == begun + 4) result.end = End::kTruncated;
  };
  Step({9});
  Step({4});  // its first frame is the last
  EXPECT_THAT(ends, ElementsAre(kCutOff));
  EXPECT_THAT(Finals(), ElementsAre(ElementsAre(0, begun + 4, 9)));
  EXPECT_THAT(seen, ElementsAre(0, testing::Le(3), 0)) << "no-ops again, and nothing pooled";
}

TEST_F(WrappedTest, ManyEnvsMayBeTruncatedInOneStep) {
  Make({.time_limit = 4}, 3);
  game->rule = [](int i, int frame, FrameResult& result) {
    if (i == 0) EndAt(frame, 3, result, End::kTruncated);
    if (i == 1) EndAt(frame, 3, result);
  };
  env->Reset(seen);
  for (int i = 0; i < 3; ++i) Step({5, 6, 7});
  EXPECT_THAT(ends, ElementsAre(kCutOff, kOver, 0));
  EXPECT_THAT(Finals(), ElementsAre(ElementsAre(0, 3, 5)));
  Step({5, 6, 7});
  EXPECT_THAT(Finals(), ElementsAre(ElementsAre(2, 4, 7)));
  game->rule = nullptr;
  for (int i = 0; i < 3; ++i) Step({1, 2, 3});
  EXPECT_THAT(Finals(), ElementsAre(ElementsAre(0, 4, 1), ElementsAre(1, 4, 2)));
}

// At the time limit, an end of another kind takes precedence.
TEST_F(WrappedTest, WhatHasEndedIsNotTruncated) {
  const auto end_of = [&](const EnvConfig& config, const FrameResult& last) {
    Make(config);
    game->rule = [last](int, int frame, FrameResult& result) {
      if (frame == 3) result = last;
    };
    env->Reset(seen);
    for (int i = 0; i < 3; ++i) Step({0});
    EXPECT_THAT(Finals(), IsEmpty());
    EXPECT_THAT(Episodes(), testing::SizeIs(1)) << "it was reset";
    return static_cast<End>(ends[0]);
  };
  const EnvConfig limited{.time_limit = 3}, lives{.life_loss_ends = true, .time_limit = 3};
  EXPECT_EQ(end_of(limited, {.end = End::kTerminated, .lives = 3}), End::kTerminated);
  EXPECT_EQ(end_of(limited, {.end = End::kCut, .lives = 3}), End::kCut);
  EXPECT_EQ(end_of(lives, {.end = End::kRunning, .lives = 2}), End::kTerminated)
      << "a life was lost in the last step";
  EXPECT_EQ(end_of(lives, {.end = End::kTruncated, .lives = 2}), End::kTerminated);
  EXPECT_EQ(end_of(lives, {.end = End::kCut, .lives = 2}), End::kCut);
}

TEST_F(WrappedTest, AnEpisodeCutShortSaysSo) {
  Make({});
  game->rule = [](int, int, FrameResult& result) { result.end = End::kCut; };
  env->Reset(seen);
  Step({0});
  EXPECT_THAT(ends, ElementsAre(static_cast<std::uint8_t>(End::kCut)));
  EXPECT_THAT(Finals(), IsEmpty()) << "nobody knows what would have been seen";
  EXPECT_EQ(Episodes().at(0).end, End::kCut);
}

TEST_F(WrappedTest, NoopsComeFirstAndDifferFromEpisodeToEpisode) {
  Make({.noop_max = 5});
  game->rule = [](int, int, FrameResult& result) { result.end = End::kRunning; };
  std::set<float> begins;
  for (int i = 0; i < 100; ++i) {
    env->Reset(seen);
    EXPECT_EQ(seen[2], 0) << "action 0";
    begins.insert(seen[1]);
  }
  EXPECT_THAT(begins, ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(Episodes(), IsEmpty());
}

TEST_F(WrappedTest, AnEpisodeThatEndsInItsNoopsBeginsAgain) {
  Make({.noop_max = 50});
  game->rule = [](int, int frame, FrameResult& result) { EndAt(frame, 1, result); };
  env->Reset(seen);
  EXPECT_THAT(seen, ElementsAre(0, 0, 0));
  EXPECT_THAT(game->asked, ElementsAre(ElementsAre(FrameEnvs::kReset, 1), ElementsAre(0, 1),
                                       ElementsAre(FrameEnvs::kReset, 1)));
}

TEST_F(WrappedTest, AStackHoldsTheLastFramesOldestFirst) {
  Make({.stack = 3});
  game->rule = [](int, int frame, FrameResult& result) { EndAt(frame, 4, result); };
  EXPECT_EQ(env->spec().channels, 9);
  env->Reset(seen);
  EXPECT_THAT(seen, ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 0));
  Step({5});
  EXPECT_THAT(seen, ElementsAre(0, 0, 0, 0, 0, 0, 0, 1, 5));
  Step({6});
  Step({7});
  EXPECT_THAT(seen, ElementsAre(0, 1, 5, 0, 2, 6, 0, 3, 7));
  Step({8});
  EXPECT_THAT(seen, ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 0)) << "nothing of the episode before";
}

// Bundled games play the same episodes with and without the wrappers' machinery.
TEST(WrappedGames, AWrapperThatDoesNothingChangesNothing) {
  for (const std::string& name : EnvNames()) {
    const auto bare = MakeVecEnv({.name = name}, 3, {.seed = 9});
    // A limit that is never reached.
    const auto wrapped = MakeVecEnv({.name = name, .time_limit = 1'000'000}, 3, {.seed = 9});
    const auto size = static_cast<std::size_t>(3 * bare->spec().obs_size());
    std::vector<float> a(size), b(size), ra(3), rb(3);
    std::vector<std::uint8_t> ta(3), tb(3);
    bare->Reset(a);
    wrapped->Reset(b);
    ASSERT_EQ(a, b) << name;
    RandomStream random(StreamId{.seed = 4});
    for (int step = 0; step < 500; ++step) {
      std::vector<std::int32_t> actions;
      for (int i = 0; i < 3; ++i) {
        actions.push_back(static_cast<std::int32_t>(
            random.Below(static_cast<std::uint32_t>(bare->spec().num_actions))));
      }
      bare->Step(actions, a, ra, ta);
      wrapped->Step(actions, b, rb, tb);
      ASSERT_EQ(a, b) << name << ", step " << step;
      ASSERT_EQ(ra, rb) << name << ", step " << step;
      ASSERT_EQ(ta, tb) << name << ", step " << step;
    }
  }
}

// The same seeds and actions, with a limit and without: the final observation is the observation of
// the env without.
TEST(WrappedGames, ATruncatedOneWouldHaveShownWhatTheUntruncatedShows) {
  int truncated = 0;
  for (const std::string& name : EnvNames()) {
    EnvConfig config{.name = name, .repeat = 2, .max_pool = true, .stack = 3};
    config.pixels = SpecOf(config).height > 1;
    for (int limit = 1; limit <= 5; ++limit) {
      const auto free = MakeVecEnv(config, 2, {.seed = 9});
      EnvConfig with_limit = config;
      with_limit.time_limit = limit;
      const auto limited = MakeVecEnv(with_limit, 2, {.seed = 9});
      std::vector<float> a(static_cast<std::size_t>(2 * free->spec().obs_size())), b(a), rewards(2);
      std::vector<std::uint8_t> ends(2), free_ends(2);
      free->Reset(a);
      limited->Reset(b);
      for (int step = 0; step < limit; ++step) {
        const std::vector<std::int32_t> actions{1 + step % 2, 2};
        free->Step(actions, a, rewards, free_ends);
        limited->Step(actions, b, rewards, ends);
      }
      for (const Truncated& last : limited->truncated()) {
        ++truncated;
        EXPECT_EQ(ends[std::size_t(last.env)], kCutOff) << name;
        const auto shown = std::span(a).subspan(std::size_t(last.env) * last.observation.size(),
                                                last.observation.size());
        EXPECT_TRUE(std::ranges::equal(last.observation, shown)) << name << ", limit " << limit;
      }
    }
  }
  EXPECT_GT(truncated, 50) << "few had ended before";
}

TEST(WrappedGames, ARepeatedActionIsSoManyFrames) {
  for (const std::string& name : EnvNames()) {
    const EnvConfig config{.name = name, .sticky_actions = 0, .repeat = 4, .max_pool = true};
    const auto whole = MakeFrames(config, 1, {.seed = 9}),
               single = MakeFrames(config, 1, {.seed = 9});
    ExpectTheSameFrameByFrame(*whole, *single, 500);
    ASSERT_FALSE(HasFailure()) << name;
  }
}

}  // namespace
}  // namespace starling::envs
