#include "envs/bridge/bridge.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <vector>

#include "envs/registry.h"
#include "envs/wrappers/wrapped.h"
#include "tests/envs/bridge/plugin_fixture.h"
#include "tests/envs/env_bench.h"
#include "tests/envs/repeat_fixture.h"
#include "tests/support/error_of.h"

namespace starling::envs {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

constexpr EnvSeed kFrameSeed{.seed = 5, .slot = 2, .life = 1};

EnvConfig GliderConfig() { return {.name = std::string("plugin:") + STARLING_GLIDER}; }

// The numbers of one env among those of PlayOn.
std::vector<float> OfEnv(const Played& played, int env, int num_envs, std::size_t row) {
  std::vector<float> mine;
  const std::size_t each = row + 2;  // reward and lives, too
  for (std::size_t at = static_cast<std::size_t>(env) * each; at < played.seen.size();
       at += each * static_cast<std::size_t>(num_envs)) {
    const auto begin = played.seen.begin() + static_cast<std::ptrdiff_t>(at);
    mine.insert(mine.end(), begin, begin + static_cast<std::ptrdiff_t>(each));
  }
  return mine;
}

TEST(PluginFrames, AnEnvPlaysTheSameWhateverIsBesideIt) {
  const auto one = PlayOn(*MakePluginFrames(GliderConfig(), 1, kFrameSeed), 300);
  const auto five = PlayOn(*MakePluginFrames(GliderConfig(), 5, kFrameSeed), 300);
  EXPECT_GT(Count(one, End::kTerminated), 3);
  EXPECT_EQ(one.seen, OfEnv(five, 0, 5, 200));
  EXPECT_NE(one.seen, OfEnv(five, 1, 5, 200));
  EXPECT_NE(one.seen, PlayOn(*MakePluginFrames(GliderConfig(), 1, {.seed = 6}), 300).seen);
}

TEST(PluginFrames, IsolatedItPlaysAndRepeatsTheSame) {
  for (const double sticky : {-1.0, 0.5}) {
    for (const int repeat : {1, 4}) {
      EnvConfig config = GliderConfig();
      config.sticky_actions = sticky;
      config.repeat = repeat;
      config.max_pool = repeat > 1;
      const auto here = PlayOn(*MakePluginFrames(config, 5, kFrameSeed), 300);
      config.isolate = true;
      config.per_process = 2;
      EXPECT_EQ(here.seen, PlayOn(*MakePluginFrames(config, 5, kFrameSeed), 300).seen)
          << sticky << ", " << repeat << " frames an action";
    }
  }
}

TEST(PluginFrames, ARepeatedActionIsSoManyFrames) {
  for (EnvConfig config : {GliderConfig(), PluginNamed("hearts")}) {
    config.repeat = 4;
    config.max_pool = config.life_loss_ends = true;
    config.sticky_actions = 0.5;
    for (const bool isolate : {false, true}) {
      config.isolate = isolate;
      const auto whole = MakePluginFrames(config, 1, kFrameSeed),
                 single = MakePluginFrames(config, 1, kFrameSeed);
      EXPECT_GT(ExpectTheSameFrameByFrame(*whole, *single, 300), 3) << config.name;
    }
  }
}

TEST(PluginFrames, StickyActionsAreNoneUnlessAskedFor) {
  EnvConfig config = PluginNamed("counter");  // shows the action that was played
  const auto others = [&] {
    const auto envs = MakePluginFrames(config, 1, kFrameSeed);
    int count = 0;
    std::vector<std::int32_t> command = {FrameEnvs::kReset};
    for (int step = 0; step < 200; ++step) {
      envs->Advance(command);
      if (command[0] >= 0) count += envs->floats(0)[2] != static_cast<float>(command[0]);
      const bool running = envs->result(0).end == End::kRunning;
      command[0] = running ? step % 2 : FrameEnvs::kReset;
    }
    return count;
  };
  EXPECT_EQ(others(), 0);
  config.sticky_actions = 0.5;
  EXPECT_GT(others(), 20);
}

TEST(PluginFrames, SkippedEnvsStayAsTheyAre) {
  const auto envs = MakePluginFrames(PluginNamed("counter"), 2, kFrameSeed);
  envs->Advance(std::vector<std::int32_t>{FrameEnvs::kReset, FrameEnvs::kReset});
  envs->Advance(std::vector<std::int32_t>{1, FrameEnvs::kSkip});
  EXPECT_EQ(envs->floats(0)[0], 1);
  EXPECT_EQ(envs->result(0).reward, 1);
  EXPECT_EQ(envs->floats(1)[0], 0);
  EXPECT_EQ(envs->result(1).reward, 0);
}

// A mistake in this process ends the player, with advice.
TEST(PluginFrames, AMistakeWhilePlayingIsTheUsers) {
  const auto envs = MakePluginFrames(PluginNamed("wrong_seen_nan"), 2, kFrameSeed);
  EXPECT_THAT(ErrorOf([&] { PlayOn(*envs, 100); }),
              AllOf(HasSubstr("(counter), env "), HasSubstr(", step 2: observed value 4 is nan"),
                    EndsWith("set env.isolate = true so that a failure costs only an episode")));
}

// Whatever a plug-in does to its process, in processes of their own it costs the episode.
class Mishap : public testing::TestWithParam<const char*> {};

TEST_P(Mishap, CostsAnEpisodeAndTheEnvGoesOn) {
  const auto envs = MakePluginFrames(Isolated(GetParam()), 2, kFrameSeed);
  const Played played = PlayOn(*envs, 60);
  EXPECT_GT(Count(played, End::kCut), 1);
  EXPECT_GT(Count(played, End::kTerminated), 1);  // episodes too short to come to the mistake
}

INSTANTIATE_TEST_SUITE_P(All, Mishap,
                         testing::Values("wrong_segfault", "wrong_abort", "wrong_exit",
                                         "wrong_step", "wrong_reward_nan", "wrong_seen_nan",
                                         "wrong_seen_high", "wrong_end"),
                         [](const auto& plugin) { return std::string(plugin.param); });

TEST(IsolatedPlugin, AHangIsGivenUpAfterItsTime) {
  EnvConfig config = Isolated("wrong_hang");
  config.timeout_s = 1;
  const auto envs = MakePluginFrames(config, 1, kFrameSeed);
  Played played = PlayOn(*envs, 4);
  for (int i = 0; i < 20 && Count(played, End::kCut) == 0; ++i) played = PlayOn(*envs, 4);
  EXPECT_GT(Count(played, End::kCut), 0);
}

TEST(IsolatedPlugin, EnvsOfOneProcessFallTogetherOthersDoNot) {
  EnvConfig config = Isolated("wrong_segfault", 2);
  const auto envs = MakePluginFrames(config, 6, kFrameSeed);
  std::vector<std::int32_t> commands(6, FrameEnvs::kReset);
  bool seen = false;
  for (int turn = 0; turn < 50 && !seen; ++turn) {
    envs->Advance(commands);
    int cut = 0;
    for (std::size_t i = 0; i < 6; ++i) {
      const End end = envs->result(static_cast<int>(i)).end;
      cut += end == End::kCut;
      commands[i] = end == End::kRunning ? 1 : FrameEnvs::kReset;
    }
    seen = cut == 2 || cut == 1;  // 1: the other had just ended by itself, or was being begun
    EXPECT_LT(cut, 6);
  }
  EXPECT_TRUE(seen);
}

TEST(IsolatedPlugin, MayPrintAsMuchAsItLikes) {
  const auto envs = MakePluginFrames(Isolated("wrong_chatter"), 1, kFrameSeed);
  EXPECT_EQ(Count(PlayOn(*envs, 40), End::kCut), 0);
}

TEST(IsolatedPlugin, OneThatNeverPlaysIsGivenUp) {
  EXPECT_THAT(ErrorOf([] { PlayOn(*MakePluginFrames(Isolated("wrong_reset"), 1, kFrameSeed), 3); }),
              HasSubstr("reset failed: the dice fell from the table"));
}

// The kernel hands its orphans to this test, which so learns that they end.
TEST(IsolatedPlugin, AWorkerDoesNotOutliveItsParent) {
  ASSERT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0);
  int ready[2];
  ASSERT_EQ(::pipe2(ready, O_CLOEXEC), 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    const auto envs = MakePluginFrames(Isolated("counter"), 3, kFrameSeed);
    PlayOn(*envs, 2);
    if (::write(ready[1], "!", 1) == 1) ::pause();
    ::_exit(1);
  }
  char byte = 0;
  ASSERT_EQ(::read(ready[0], &byte, 1), 1);
  ::close(ready[0]), ::close(ready[1]);
  ASSERT_EQ(::kill(parent, SIGKILL), 0);
  ASSERT_EQ(::waitpid(parent, nullptr, 0), parent);
  int ended = 0;  // more under a sanitizer, whose own processes are orphans, too
  while (::waitpid(-1, nullptr, 0) > 0) ++ended;
  EXPECT_GE(ended, 3);
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);
}

TEST(PluginSpec, IsTheSameInAProcessOfItsOwn) {
  const FrameSpec here = PluginSpec(PluginNamed("counter")),
                  there = PluginSpec(Isolated("counter"));
  EXPECT_EQ(here.env.name, there.env.name);
  EXPECT_EQ(here.env.obs_size(), there.env.obs_size());
  EXPECT_EQ(here.env.action_names, there.env.action_names);
  EXPECT_EQ(here.env.high, there.env.high);
  EXPECT_EQ(here.lives, there.lives);
}

TEST(PluginSpec, SaysTheSameSentenceOfAMistakeIsolatedOrNot) {
  for (const char* wrong : {"wrong_version", "no_symbol", "wrong_bounds", "wrong_no_step"}) {
    const std::string here = ErrorOf([&] { PluginSpec(PluginNamed(wrong)); });
    EXPECT_THAT(here, HasSubstr(wrong));
    EXPECT_EQ(here, ErrorOf([&] { PluginSpec(Isolated(wrong)); }));
  }
}

TEST(PluginSpec, OneThatDiesWhenLoadedDiesInTheChild) {
  EXPECT_THAT(
      ErrorOf([] { PluginSpec(Isolated("segfault_at_load")); }),
      AllOf(HasSubstr("starling-env-worker, tried before anything starts, "),
            HasSubstr("; fix the plug-in"),
            AnyOf(HasSubstr("was killed by SIGSEGV"), HasSubstr("ended with exit status"))));
}

TEST(PluginSpec, BeginsAnEpisodeToSeeThatItCan) {
  const std::string what = "reset failed: the dice fell from the table";
  EXPECT_THAT(ErrorOf([] { PluginSpec(PluginNamed("wrong_reset")); }), HasSubstr(what));
  EXPECT_THAT(ErrorOf([] { PluginSpec(Isolated("wrong_reset")); }), HasSubstr(what));
}

TEST(PluginSpec, APathIsRelativeToTheCurrentDirectory) {
  const auto relative = std::filesystem::relative(PluginPath("counter"));
  const EnvConfig config{.name = "plugin:" + relative.string()};
  EXPECT_EQ(PluginSpec(config).env.name, config.name);
}

TEST(Registry, KnowsPluginsByTheirPrefix) {
  const EnvSpec spec = SpecOf(PluginNamed("counter"));
  EXPECT_THAT(spec.action_names, ElementsAre("pass", "count"));
  EXPECT_THAT(ErrorOf([] { SpecOf({.name = "plugin:./nowhere.so"}); }),
              HasSubstr("there is no file"));
}

// The envs as training sees them: wrappers and episodes. env.life_loss_ends is refused where there
// are no lives.
TEST(Registry, PlaysPluginsAsVecEnvs) {
  EnvConfig config = GliderConfig();
  config.stack = 2;
  EnvBench bench(MakeVecEnv(config, 3, kFrameSeed));
  EXPECT_EQ(bench.env->spec().channels, 4);
  for (int step = 0; step < 200; ++step) bench.Step({0, 1, 2});
  std::vector<EpisodeEnd> episodes;
  bench.env->TakeEpisodes(episodes);
  EXPECT_GT(episodes.size(), 3u);
  for (const EpisodeEnd& episode : episodes) {
    EXPECT_GE(episode.length, 9);  // the first wall has ten columns to go
    EXPECT_EQ(episode.end, End::kTerminated);
  }
  config.life_loss_ends = true;
  EXPECT_THAT(ErrorOf([&] { SpecOf(config); }), HasSubstr("env.life_loss_ends"));
}

// The final observations of `steps` steps of three envs, the counts of all; action 1 is played.
std::vector<std::vector<float>> FinalsOf(const EnvConfig& config, int steps) {
  EnvBench bench(MakeVecEnv(config, 3, kFrameSeed));
  std::vector<std::vector<float>> finals;
  for (int step = 0; step < steps; ++step) {
    bench.Step({1, 1, 1});
    std::vector<int> truncated;
    for (const Truncated& last : bench.env->truncated()) {
      truncated.push_back(last.env);
      finals.emplace_back(last.observation.begin(), last.observation.end());
    }
    std::vector<int> expected;
    for (int i = 0; i < 3; ++i) {
      const auto end = static_cast<End>(bench.ends[std::size_t(i)]);
      if (end == End::kTruncated) expected.push_back(i);
    }
    EXPECT_EQ(truncated, expected);
  }
  return finals;
}

// "truncated" counts to its length and is truncated then: (steps, length, action, 0, 0, 0).
TEST(Registry, ATruncatedPluginHasAFinalObservation) {
  for (const bool isolate : {false, true}) {
    EnvConfig config = Isolated("truncated", 2);
    config.isolate = isolate;
    config.stack = 2;
    const auto finals = FinalsOf(config, 12);
    EXPECT_GE(finals.size(), 6u);  // episodes are of 2 to 5 steps
    for (const std::vector<float>& last : finals) {
      const float length = last[1];
      EXPECT_THAT(last, ElementsAre(length - 1, length, 1, length, length, 1, 0, 0, 0, 0, 0, 0));
    }
    config.stack = 1;
    config.repeat = 2;
    config.max_pool = true;
    for (const std::vector<float>& last : FinalsOf(config, 12)) {
      EXPECT_THAT(last, ElementsAre(last[1], last[1], 1, 0, 0, 0));
    }
    config.life_loss_ends = true;  // its last life is lost at the end
    EXPECT_THAT(FinalsOf(config, 12), testing::IsEmpty());
  }
}

}  // namespace
}  // namespace starling::envs
