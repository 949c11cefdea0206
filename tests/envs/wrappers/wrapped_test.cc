#include "envs/wrappers/wrapped.h"

#include <gmock/gmock.h>

#include <cmath>
#include <limits>
#include <set>

#include "tests/envs/env_bench.h"
#include "tests/envs/wrappers/scripted_envs.h"
#include "tests/support/error_of.h"

namespace starling::envs {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class WrappedTest : public testing::Test {
 protected:
  using Rule = decltype(Scripted::rule);

  // Resets new envs that follow `rule`.
  void Begin(const EnvConfig& config, int num_envs = 1, Rule rule = {},
             const ActionSpace& actions = ActionSpace::Choice(10)) {
    auto frames = std::make_unique<Scripted>(num_envs, RepeatOf(config), actions);
    game = frames.get();
    game->rule = std::move(rule);
    env = std::make_unique<WrappedEnv>(std::move(frames), EnvSeed{.seed = 5}, config);
    seen.resize(static_cast<std::size_t>(num_envs) * env->spec().row());
    rewards.resize(static_cast<std::size_t>(num_envs));
    ends.resize(static_cast<std::size_t>(num_envs));
    env->Reset(seen);
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
  Begin({}, 2, [](int i, int frame, FrameResult& result) {
    if (i == 0) result.lives = 1;  // no end unless asked for
    if (i == 1) EndAt(frame, 2, result);
  });
  EXPECT_THAT(seen, ElementsAre(0, 0, 0, 1, 0, 0));
  Step({4, 5});
  EXPECT_THAT(seen, ElementsAre(0, 1, 4, 1, 1, 5));
  EXPECT_THAT(ends, ElementsAre(0, 0));
  Step({6, 7});
  EXPECT_THAT(seen, ElementsAre(0, 2, 6, 1, 0, 0)) << "env 1 shows its next episode";
  EXPECT_THAT(ends, ElementsAre(0, kOver));
  EXPECT_THAT(rewards, ElementsAre(1, 1));
  EXPECT_THAT(Episodes(), ElementsAre(EpisodeEnd{1, 2, 2, End::kTerminated}));
  EXPECT_THAT(Episodes(), IsEmpty());
}

TEST_F(WrappedTest, AnActionIsRepeatedUntilAnEnd) {
  Begin({.repeat = 4}, 2, [](int i, int frame, FrameResult& result) {
    if (i == 0) EndAt(frame, 6, result);
  });
  game->asked.clear();
  Step({3, 4});
  EXPECT_THAT(rewards, ElementsAre(4, 4));
  Step({3, 4});  // env 0 ends in its second frame, env 1 plays all four
  EXPECT_THAT(rewards, ElementsAre(2, 4));
  EXPECT_THAT(ends, ElementsAre(kOver, 0));
  EXPECT_THAT(game->asked, ElementsAre(ElementsAre(3, 4, 4), ElementsAre(3, 4, 4),
                                       ElementsAre(FrameEnvs::kReset, FrameEnvs::kSkip, 1)))
      << "an Advance a step";
  EXPECT_THAT(Episodes(), ElementsAre(EpisodeEnd{0, 6, 2, End::kTerminated}))
      << "their length is counted in the agent's steps";
}

TEST_F(WrappedTest, TheMaximumOfTheLastTwoFramesIsSeen) {
  Begin({.repeat = 3, .max_pool = true});
  EXPECT_THAT(seen, ElementsAre(0, 0, 0)) << "the first frame stands alone";
  Step({5});
  EXPECT_THAT(seen, ElementsAre(0, 3, 5));
  Begin({.repeat = 2, .max_pool = true});
  Step({7});
  Step({2});
  EXPECT_THAT(seen, ElementsAre(0, 4, 2)) << "both frames are of the second action";
  Begin({.repeat = 3, .max_pool = true, .life_loss_ends = true}, 1,
        [](int, int frame, FrameResult& result) { result.lives -= frame == 4; });
  Step({7});
  Step({2});
  EXPECT_THAT(seen, ElementsAre(0, 4, 7)) << "one frame was played: the other is of the first";
}

// An agent sees an end with every life; the episode, its return and its length span all lives.
TEST_F(WrappedTest, ALostLifeIsAnEndThatGoesOn) {
  Begin({.repeat = 4, .life_loss_ends = true}, 1, [](int, int frame, FrameResult& result) {
    if (frame == 2) result.lives = 2;
    EndAt(frame, 7, result);
  });
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
  EXPECT_THAT(Episodes(), ElementsAre(EpisodeEnd{0, 7, 3, End::kTerminated})) << "of all lives";
}

TEST_F(WrappedTest, RewardsAreClippedAndReturnsAreNot) {
  const float plan[] = {3, -2, 0.5};
  Begin({.reward_clip = 1}, 1, [&](int, int frame, FrameResult& result) {
    result.reward = plan[frame - 1];
    EndAt(frame, 3, result);
  });
  Step({0});
  EXPECT_THAT(rewards, ElementsAre(1));
  Step({0});
  EXPECT_THAT(rewards, ElementsAre(-1));
  Step({0});
  EXPECT_THAT(rewards, ElementsAre(0.5));
  EXPECT_EQ(Episodes().at(0).episode_return, 1.5);
}

TEST_F(WrappedTest, WhatATruncatedEpisodeWouldHaveShownNextIsKept) {
  Begin({.repeat = 2, .time_limit = 3});
  for (const std::int32_t action : {5, 6}) Step({action});
  EXPECT_THAT(Finals(), IsEmpty());
  Step({7});
  EXPECT_THAT(ends, ElementsAre(kCutOff));
  EXPECT_THAT(seen, ElementsAre(0, 0, 0)) << "the next episode";
  EXPECT_THAT(Finals(), ElementsAre(ElementsAre(0, 6, 7)));
  EXPECT_THAT(Episodes(), ElementsAre(EpisodeEnd{0, 6, 3, End::kTruncated}))
      << "its length is counted in the agent's steps";
  Step({8});
  EXPECT_THAT(seen, ElementsAre(0, 2, 8));
  EXPECT_THAT(Finals(), IsEmpty()) << "of the last step only";
  for (int i = 0; i < 2; ++i) Step({9});
  EXPECT_THAT(Finals(), ElementsAre(ElementsAre(0, 6, 9)));
  env->Reset(seen);
  EXPECT_THAT(Finals(), IsEmpty());
}

TEST_F(WrappedTest, AFinalObservationIsStackedAndTheNextEpisodeHasNothingOfIt) {
  Begin({.time_limit = 3, .stack = 2});
  for (const std::int32_t action : {5, 6, 7}) Step({action});
  EXPECT_THAT(Finals(), ElementsAre(ElementsAre(0, 2, 6, 0, 3, 7)));
  EXPECT_THAT(seen, ElementsAre(0, 0, 0, 0, 0, 0));
  Step({8});
  EXPECT_THAT(seen, ElementsAre(0, 0, 0, 0, 1, 8));
  Begin({.time_limit = 1, .stack = 4});
  for (const std::int32_t action : {5, 6}) {
    Step({action});
    const auto taken = static_cast<float>(action);
    EXPECT_THAT(Finals(), ElementsAre(ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, taken)))
        << "the first frame stands for those before it";
  }
}

TEST_F(WrappedTest, AFinalObservationIsPooled) {
  Begin({.noop_max = 3, .repeat = 3, .max_pool = true});
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
  Begin({.time_limit = 4}, 3, [](int i, int frame, FrameResult& result) {
    if (i == 0) EndAt(frame, 3, result, End::kTruncated);
    if (i == 1) EndAt(frame, 3, result);
  });
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
    Begin(config, 1, [last](int, int frame, FrameResult& result) {
      if (frame == 3) result = last;
    });
    for (int i = 0; i < 3; ++i) Step({0});
    EXPECT_THAT(Finals(), IsEmpty());
    const auto episodes = Episodes();
    EXPECT_THAT(episodes, testing::SizeIs(1)) << "it was reset";
    if (last.end == End::kCut) {
      EXPECT_EQ(episodes.at(0).end, End::kCut) << "whatever the agent sees";
    }
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

TEST_F(WrappedTest, NoopsComeFirstAndDifferFromEpisodeToEpisode) {
  Begin({.noop_max = 5});
  std::set<float> begins;
  for (int i = 0; i < 100; ++i) {
    env->Reset(seen);
    EXPECT_EQ(seen[2], 0) << "action 0";
    begins.insert(seen[1]);
  }
  EXPECT_THAT(begins, ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(Episodes(), IsEmpty());
}

// A thousand slow no-ops take longer than a learner waits for a word.
TEST_F(WrappedTest, WhoeverWaitsMayDoSomethingBetweenTheNoops) {
  int calls = 0;
  const EnvConfig config{.noop_max = 50};
  WrappedEnv waiting(std::make_unique<Scripted>(1, RepeatOf(config)), {}, config,
                     [&](auto) { ++calls; });
  std::vector<float> row(3);
  waiting.Reset(row);
  EXPECT_GT(row[1], 1) << "no-ops";
  EXPECT_EQ(calls, 1 + static_cast<int>(row[1]));
}

TEST_F(WrappedTest, AnEpisodeThatEndsInItsNoopsBeginsAgain) {
  Begin({.noop_max = 50}, 1, [](int, int frame, FrameResult& result) { EndAt(frame, 1, result); });
  EXPECT_THAT(seen, ElementsAre(0, 0, 0));
  EXPECT_THAT(game->asked, ElementsAre(ElementsAre(FrameEnvs::kReset, 1), ElementsAre(0, 1),
                                       ElementsAre(FrameEnvs::kReset, 1)));
}

TEST_F(WrappedTest, AStackHoldsTheLastFramesOldestFirst) {
  Begin({.stack = 3}, 1, [](int, int frame, FrameResult& result) { EndAt(frame, 4, result); });
  EXPECT_EQ(env->spec().channels, 9);
  EXPECT_THAT(seen, ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 0));
  Step({5});
  EXPECT_THAT(seen, ElementsAre(0, 0, 0, 0, 0, 0, 0, 1, 5));
  Step({6});
  Step({7});
  EXPECT_THAT(seen, ElementsAre(0, 1, 5, 0, 2, 6, 0, 3, 7));
  Step({8});
  EXPECT_THAT(seen, ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 0)) << "nothing of the episode before";
}

TEST_F(WrappedTest, SeveralChoicesPassAsTheyAre) {
  Begin({.repeat = 2}, 2, {}, ActionSpace::Choices({3, 4}));
  Step({2, 3, 0, 1});
  EXPECT_THAT(seen, ElementsAre(0, 2, 2, 3, 1, 2, 0, 1));
}

TEST_F(WrappedTest, APointOfTheWholeSpaceGetsBetweenTheBounds) {
  constexpr float infinite = std::numeric_limits<float>::infinity();
  const ActionSpace box = ActionSpace::Box({-2, -infinite}, {6, infinite});
  Begin({}, 2, {}, box);
  EXPECT_EQ(env->spec().actions, box);
  Step({WordOf(0.5f), WordOf(-7), WordOf(-3), WordOf(0)});
  EXPECT_THAT(seen, ElementsAre(0, 1, 4, -7, 1, 1, -2, 0));
  Begin({.action_bounds = ActionBounds::kTanh}, 1, {}, box);
  EXPECT_EQ(env->spec().actions.bounds, ActionBounds::kTanh);
  Step({WordOf(0.5f), WordOf(7)});
  EXPECT_THAT(seen, ElementsAre(0, 1, testing::FloatEq(2 + 4 * std::tanh(0.5f)), 7));
}

// Also where the first number of an action is negative, as those of the commands are.
TEST_F(WrappedTest, NoopsOfABoxAreItsNearestPointToZero) {
  Begin(
      {.noop_max = 3}, 1, [](int, int frame, FrameResult& result) { EndAt(frame, 9, result); },
      ActionSpace::Box({-5, 2, -1}, {-4, 3, 1}));
  EXPECT_THAT(seen, ElementsAre(0, testing::Ge(1), -4, 2, 0));
  const std::int32_t low = WordOf(-1);
  while (seen[1] < 8) Step({low, low, low});
  EXPECT_THAT(seen, ElementsAre(0, 8, -5, 2, -1));
  Step({low, low, low});
  EXPECT_THAT(ends, ElementsAre(kOver));
  EXPECT_THAT(seen, ElementsAre(0, testing::Ge(1), -4, 2, 0)) << "the next episode's no-ops";
}

TEST_F(WrappedTest, AMaskPassesWithItsObservation) {
  ActionSpace actions = ActionSpace::Choices({2, 3});
  actions.masked = true;
  Begin({.repeat = 2, .time_limit = 2}, 2, {}, actions);
  EXPECT_EQ(env->spec().obs_size(), 4);
  EXPECT_THAT(seen, ElementsAre(0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 0, 0, 0, 0, 1, 0, 1, 0));
  Step({0, 0, 1, 1});
  EXPECT_THAT(seen, ElementsAre(0, 2, 0, 0, 1, 0, 1, 0, 0, 1, 2, 1, 1, 0, 1, 0, 1, 0));
  Step({0, 0, 1, 1});
  EXPECT_THAT(Finals(), ElementsAre(ElementsAre(0, 4, 0, 0, 1, 0, 1, 0, 0),
                                    ElementsAre(1, 4, 1, 1, 0, 1, 0, 1, 0)));
}

TEST(WrappedSpec, AStackHasALimit) {
  FrameSpec raw;
  raw.env = {
      .name = "wide", .channels = 1 << 20, .actions = ActionSpace::Choice(2), .action_names = {}};
  EXPECT_EQ(WrappedSpec(raw, {.stack = 64}).obs_size(), 1 << 26);
  raw.env.channels *= 2;
  EXPECT_EQ(ErrorOf([&] { WrappedSpec(raw, {.stack = 64}); }),
            "env.stack = 64: observations of wide are 2097152 numbers, and all of them together "
            "may be 67108864 at most");
}

}  // namespace
}  // namespace starling::envs
