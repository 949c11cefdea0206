#include "envs/bridge/worker_envs.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "tests/envs/bridge/fake_worker.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"

namespace starling::envs {
namespace {

using testing::HasSubstr;

constexpr std::int32_t kSkip = FrameEnvs::kSkip, kReset = FrameEnvs::kReset;
constexpr EnvSeed kSeed{.seed = 5, .slot = 1, .life = 2};

using Commands = std::vector<std::int32_t>;

// The fake's observation after the `draw`th seed of env `env`.
float Shown(std::uint32_t env, int draw = 1) {
  RandomStream stream({kSeed.seed, kSeed.slot, kSeed.life, env, Purpose::kEnv});
  std::uint64_t seed = 0;
  while (draw-- > 0) seed = WorkerSeed(stream);
  return static_cast<float>(seed % (1 << 20));
}

std::vector<float> Frame(const FrameEnvs& envs, int env) {
  const auto frame = envs.floats(env);
  return {frame.begin(), frame.end()};
}

std::string ErrorOf(const std::string& options, int advances = 0) {
  return starling::ErrorOf([&] {
    WorkerEnvs envs(FakeWorker(options), 2, kSeed, {});
    for (int i = 0; i < advances; ++i) {
      envs.Advance(i % 2 == 0 ? Commands{kReset, kReset} : Commands{1, 1});
    }
  });
}

std::string TrialOf(const std::string& options, double timeout_s = 60) {
  return starling::ErrorOf([&] { TryWorker(FakeWorker(options), timeout_s, "mend it"); });
}

// The fake does not end its reset before the file is there, which is made between the two halves.
TEST(WorkerEnvs, PlayBetweenTheHalvesOfAnAdvance) {
  const TempDir dir;
  const std::string file = (dir / "go").string();
  WorkerEnvs envs(FakeWorker("{\"wait_for\": \"" + file + "\"}"), 1, kSeed, {});
  envs.AdvanceAsync(Commands{kReset}, 1);
  std::ofstream(file) << "on";
  envs.AdvanceWait();
  EXPECT_EQ(envs.replaced(), 0);
  EXPECT_THAT(Frame(envs, 0), testing::ElementsAre(Shown(0), 0, 1));
  EXPECT_GT(envs.waited_ns(), 0);
}

// As the groups of an actor are if one of them can no longer be played.
TEST(WorkerEnvs, MayBeDestroyedWhileTheyPlay) {
  {
    WorkerEnvs envs(FakeWorker(), 2, kSeed, {.per_process = 1});
    envs.AdvanceAsync(Commands{kReset, kReset}, 1);
  }
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a process is left";
}

TEST(WorkerEnvs, NameThemselvesAsTheActorsEnvs) {
  EnvSeed second = kSeed;
  second.first = 6;
  const std::string error = starling::ErrorOf([&] {
    WorkerEnvs envs(FakeWorker(R"({"crash": 9})"), 2, second, {});
    envs.Advance(Commands{kReset, kReset});
  });
  EXPECT_THAT(error, HasSubstr("the process of envs 6 to 7"));
}

TEST(WorkerEnvs, PlaysWhatItIsTold) {
  WorkerEnvs envs(FakeWorker(R"({"length": 2})"), 3, kSeed, {.per_process = 3});
  // 1. The spec.
  EXPECT_EQ(envs.spec().env.name, "fake");
  EXPECT_EQ(envs.spec().env.obs_size(), 3);
  EXPECT_THAT(envs.spec().env.action_names, testing::ElementsAre("stay", "go", "jump"));
  EXPECT_TRUE(envs.spec().lives);
  EXPECT_FALSE(envs.spec().bytes);
  EXPECT_TRUE(envs.bytes(0).empty());

  // 2. Two envs are reset, the third is skipped.
  envs.Advance(Commands{kReset, kReset, kSkip});
  EXPECT_THAT(Frame(envs, 0), testing::ElementsAre(Shown(0), 0, 1));
  EXPECT_THAT(Frame(envs, 1), testing::ElementsAre(Shown(1), 0, 1));
  EXPECT_EQ(envs.result(0).end, End::kRunning);
  EXPECT_EQ(envs.result(0).lives, 2);

  // 3. Each env follows its own command.
  envs.Advance(Commands{2, kSkip, kReset});
  EXPECT_EQ(envs.result(0).reward, 2);
  EXPECT_EQ(envs.result(0).lives, 1);
  EXPECT_THAT(Frame(envs, 0), testing::ElementsAre(Shown(0), 1, 1));
  EXPECT_THAT(Frame(envs, 1), testing::ElementsAre(Shown(1), 0, 1));
  EXPECT_THAT(Frame(envs, 2), testing::ElementsAre(Shown(2), 0, 1));

  // 4. Episodes end and begin again.
  envs.Advance(Commands{1, 1, 1});
  EXPECT_EQ(envs.result(0).end, End::kTerminated);
  EXPECT_EQ(envs.result(1).end, End::kRunning);
  envs.Advance(Commands{kReset, kSkip, kSkip});
  EXPECT_THAT(Frame(envs, 0), testing::ElementsAre(Shown(0), 0, 2));
  EXPECT_EQ(envs.replaced(), 0);
}

TEST(WorkerEnvs, AnActionOfSeveralFramesIsOneExchange) {
  WorkerEnvs envs(FakeWorker(R"({"length": 5})"), 2, kSeed,
                  {.repeat = {.frames = 3, .keep_before = true}});
  envs.Advance(Commands{kReset, kReset}, 3);
  EXPECT_THAT(Frame(envs, 0), testing::ElementsAre(Shown(0), 0, 1)) << "a reset is a reset";
  envs.Advance(Commands{2, kSkip}, 3);
  EXPECT_EQ(envs.result(0).reward, 6);
  EXPECT_THAT(Frame(envs, 0), testing::ElementsAre(Shown(0), 3, 1));
  EXPECT_THAT(envs.floats_before(0), testing::ElementsAre(Shown(0), 2, 1));
  EXPECT_THAT(Frame(envs, 1), testing::ElementsAre(Shown(1), 0, 1));
  envs.Advance(Commands{1, 1}, 3);
  EXPECT_EQ(envs.result(0).reward, 2) << "it ends before the third";
  EXPECT_EQ(envs.result(0).end, End::kTerminated);
  EXPECT_THAT(Frame(envs, 0), testing::ElementsAre(Shown(0), 5, 1));
  EXPECT_EQ(envs.result(1).reward, 3);
  envs.Advance(Commands{kReset, 1}, 1);
  EXPECT_EQ(envs.result(1).reward, 1) << "fewer may be asked for";
  EXPECT_THAT(Frame(envs, 1), testing::ElementsAre(Shown(1), 4, 1));
  EXPECT_THAT(envs.floats_before(1), testing::ElementsAre(Shown(1), 3, 1));
}

constexpr char kThreeChoices[] =
    R"("actions": {"counts": [3, 4, 2], "names": [], "masked": false})";
constexpr char kBox[] = R"("actions": {"low": [-2, null], "high": [2, 5]})";

// The fake's reward is the sum of the k-th words times 10^k.
TEST(WorkerEnvs, SeveralChoicesAreWordsSideBySide) {
  WorkerEnvs envs(FakeWorker(std::string("{") + kThreeChoices + "}"), 3, kSeed,
                  {.per_process = 2, .repeat = {.frames = 3}});
  EXPECT_EQ(envs.spec().env.actions, ActionSpace::Choices({3, 4, 2}));
  envs.Advance(Commands{kReset, 9, 9, kSkip, 9, 9, kReset, 0, 0});
  EXPECT_THAT(Frame(envs, 0), testing::ElementsAre(Shown(0), 0, 1));
  EXPECT_THAT(Frame(envs, 1), testing::ElementsAre(0, 0, 0)) << "skipped, whatever is behind it";
  envs.Advance(Commands{2, 3, 1, kReset, 0, 0, 0, 1, 0});
  EXPECT_EQ(envs.result(0).reward, 132);
  EXPECT_THAT(Frame(envs, 1), testing::ElementsAre(Shown(1), 0, 1));
  EXPECT_EQ(envs.result(2).reward, 10);
  envs.Advance(Commands{1, 0, 1, 0, 0, 1, kSkip, 0, 0}, 3);
  EXPECT_EQ(envs.result(0).reward, 3 * 101) << "of three frames";
  EXPECT_EQ(envs.result(1).reward, 3 * 100);
  EXPECT_EQ(envs.result(2).reward, 10);
}

TEST(WorkerEnvs, ABoxIsNumbersWhateverTheirSign) {
  WorkerEnvs envs(FakeWorker(std::string("{") + kBox + "}"), 1, kSeed, {.repeat = {.frames = 2}});
  constexpr float infinite = std::numeric_limits<float>::infinity();
  EXPECT_EQ(envs.spec().env.actions, ActionSpace::Box({-2, -infinite}, {2, 5}));
  envs.Advance(Commands{kReset, 0});
  envs.Advance(Commands{WordOf(-1.5f), WordOf(0.25f)});
  EXPECT_EQ(envs.result(0).reward, 1);
  envs.Advance(Commands{WordOf(2), WordOf(-3)}, 2);
  EXPECT_EQ(envs.result(0).reward, 2 * -28);
  EXPECT_THAT(Frame(envs, 0), testing::ElementsAre(Shown(0), 3, 1));
}

// An action is stuck as a whole, by one draw a frame, whatever its words are.
TEST(WorkerEnvs, AStickyActionIsAllOfItsWords) {
  const auto stuck = [](const std::string& actions, const Commands& action, double reward) {
    WorkerEnvs envs(FakeWorker("{\"length\": 1000, " + actions + "}"), 1, kSeed,
                    {.sticky_actions = 0.5});
    Commands reset(action.size(), 0);
    reset[0] = kReset;
    envs.Advance(reset);
    std::vector<bool> first;
    for (int i = 0; i < 40; ++i) {
      // The other action is that of rest.
      envs.Advance(i % 2 == 0 ? action : Commands(action.size(), 0));
      EXPECT_THAT(envs.result(0).reward, testing::AnyOf(0, reward));
      first.push_back(envs.result(0).reward == reward);
    }
    return first;
  };
  const auto one = stuck(R"("mask": [])", {2}, 2);
  EXPECT_EQ(stuck(kThreeChoices, {2, 3, 1}, 132), one);
  EXPECT_EQ(stuck(kBox, {WordOf(-1.5f), WordOf(0.25f)}, 1), one);
}

// The action of rest lies within the box.
TEST(WorkerEnvs, BeforeTheFirstActionABoxRests) {
  WorkerEnvs envs(FakeWorker(R"({"actions": {"low": [1, -5], "high": [2, -3]}})"), 1, kSeed,
                  {.sticky_actions = 1});
  envs.Advance(Commands{kReset, 0});
  envs.Advance(Commands{WordOf(2), WordOf(-4)});
  EXPECT_EQ(envs.result(0).reward, 1 - 30);
}

TEST(WorkerEnvs, ADeadProcessCutsEpisodesUnderNegativeNumbers) {
  const TempDir dir;
  WorkerEnvs envs(FakeWorker(std::string("{") + kBox + R"(, "at": 2, "exit": 1, "once": ")" +
                             (dir / "once").string() + "\"}"),
                  2, kSeed, {.per_process = 2});
  const std::int32_t back = WordOf(-1);
  envs.Advance(Commands{kReset, 0, kReset, 0});
  envs.Advance(Commands{back, back, back, back});
  envs.Advance(Commands{back, back, kSkip, 0});
  EXPECT_EQ(envs.replaced(), 1u);
  EXPECT_EQ(envs.result(0).end, End::kCut);
  envs.Advance(Commands{kReset, 0, back, back});
  EXPECT_EQ(envs.result(1).end, End::kCut);
  EXPECT_THAT(Frame(envs, 0), testing::ElementsAre(Shown(0, 2), 0, 1));
}

std::string Masked(const std::string& mask, const std::string& more = "") {
  return R"({"actions": {"counts": [2, 3], "names": [], "masked": true}, "mask": )" + mask + more +
         "}";
}

TEST(WorkerEnvs, AMaskIsBehindTheFrame) {
  WorkerEnvs envs(FakeWorker(Masked("[1, 0, 0, 0, 0.5]")), 1, kSeed, {});
  EXPECT_EQ(envs.spec().env.obs_size(), 3);
  envs.Advance(Commands{kReset, 0});
  EXPECT_THAT(Frame(envs, 0), testing::ElementsAre(Shown(0), 0, 1, 1, 0, 0, 0, 0.5));
}

TEST(WorkerEnvs, AMaskThatLeavesNoChoiceIsNonsense) {
  EXPECT_THAT(TrialOf(Masked("[0, 1, 0, 0, 0]")),
              HasSubstr("gave an invalid answer: env 0 forbids every value of choice 1"));
  EXPECT_THAT(TrialOf(Masked("[0, 0, 1, 1, 1]")), HasSubstr("forbids every value of choice 0"));
}

TEST(WorkerEnvs, ALostLifeStopsTheRepeatIfAskedFor) {
  WorkerEnvs envs(FakeWorker(), 1, kSeed, {.repeat = {.frames = 3, .stop_at_lost_life = true}});
  envs.Advance(Commands{kReset});
  envs.Advance(Commands{2}, 3);
  EXPECT_EQ(envs.result(0).reward, 2) << "the fake loses one in every frame";
}

TEST(WorkerEnvs, WhatCannotBeIsNonsenseBeforeTheNewestFrame) {
  for (const char* nonsense :
       {R"("nonsense": "before")", R"("nonsense": "reward", "value": 1e39)"}) {
    WorkerEnvs envs(FakeWorker(std::string(R"({"at": 2, )") + nonsense + "}"), 1, kSeed,
                    {.repeat = {.frames = 2, .keep_before = true}});
    envs.Advance(Commands{kReset});
    envs.Advance(Commands{1}, 2);
    EXPECT_EQ(envs.result(0).end, End::kCut) << nonsense;
  }
}

// The frame before the newest is pooled into the final observation of a truncated episode only.
TEST(WorkerEnvs, TheFrameBeforeMeansSomethingWhereAnEpisodeIsTruncated) {
  const auto end_of = [](const std::string& options) {
    WorkerEnvs envs(FakeWorker(R"({"length": 2, "at": 2, )" + options + "}"), 1, kSeed,
                    {.repeat = {.frames = 3, .keep_before = true}});
    envs.Advance(Commands{kReset});
    envs.Advance(Commands{1}, 3);
    if (envs.result(0).end == End::kTruncated) {
      EXPECT_THAT(Frame(envs, 0), testing::ElementsAre(Shown(0), 2, 1));
      EXPECT_THAT(envs.floats_before(0), testing::ElementsAre(Shown(0), 1, 1));
    }
    return envs.result(0).end;
  };
  EXPECT_EQ(end_of(R"("truncates": true)"), End::kTruncated);
  EXPECT_EQ(end_of(R"("truncates": true, "nonsense": "before")"), End::kCut);
  EXPECT_EQ(end_of(R"("nonsense": "before")"), End::kTerminated);
}

TEST(WorkerEnvs, HowEnvsAreSpreadChangesNothing) {
  for (const int per_process : {1, 2, 5, 64}) {
    WorkerEnvs envs(FakeWorker(), 5, kSeed, {.per_process = per_process});
    envs.Advance(Commands{kReset, kReset, kReset, kReset, kReset});
    envs.Advance(Commands{0, 1, 2, 1, kSkip});
    for (int i = 0; i < 5; ++i) {
      EXPECT_THAT(Frame(envs, i),
                  testing::ElementsAre(Shown(static_cast<std::uint32_t>(i)), i < 4 ? 1 : 0, 1))
          << "env " << i << ", " << per_process << " in a process";
    }
    EXPECT_EQ(envs.result(2).reward, 2);
  }
}

// Envs 0 and 1 share the process that fails at the third step; env 2 has its own.
class Replaced : public testing::TestWithParam<const char*> {
 protected:
  std::string Options(const std::string& more) const {
    return R"({"length": 9, "once": ")" + (dir_ / "once").string() + "\", " + GetParam() + ", " +
           more + "}";
  }
  // Only one that hangs is not to be waited for long.
  double timeout_s() const {
    return std::string(GetParam()).find("hang") != std::string::npos ? 5 : 60;
  }
  TempDir dir_;
};

TEST_P(Replaced, ItsEpisodesAreCutAndTheRestGoesOn) {
  WorkerEnvs envs(FakeWorker(Options(R"("at": 3)")), 3, kSeed,
                  {.per_process = 2, .timeout_s = timeout_s()});
  envs.Advance(Commands{kReset, kReset, kSkip});
  envs.Advance(Commands{1, 1, kReset});
  envs.Advance(Commands{1, 1, 1});
  ASSERT_EQ(envs.replaced(), 0);
  envs.Advance(Commands{1, kSkip, 1});
  EXPECT_EQ(envs.replaced(), 1);
  EXPECT_EQ(envs.result(0).end, End::kCut);
  EXPECT_EQ(envs.result(0).reward, 0);
  EXPECT_THAT(Frame(envs, 0), testing::ElementsAre(Shown(0), 2, 1));  // as it was
  EXPECT_EQ(envs.result(1).end, End::kRunning);                       // it was not asked
  EXPECT_EQ(envs.result(2).end, End::kRunning);
  EXPECT_THAT(Frame(envs, 2), testing::ElementsAre(Shown(2), 2, 1));

  envs.Advance(Commands{kReset, 1, 1});
  EXPECT_EQ(envs.result(0).end, End::kRunning);
  EXPECT_THAT(Frame(envs, 0), testing::ElementsAre(Shown(0, 2), 0, 1));  // its second seed
  EXPECT_EQ(envs.result(1).end, End::kCut);                              // only now reported
  EXPECT_THAT(Frame(envs, 2), testing::ElementsAre(Shown(2), 3, 1));

  envs.Advance(Commands{2, kReset, kSkip});
  EXPECT_EQ(envs.result(0).reward, 2);
  EXPECT_THAT(Frame(envs, 1), testing::ElementsAre(Shown(1, 2), 0, 1));
  EXPECT_EQ(envs.replaced(), 1);
}

TEST_P(Replaced, AResetThatFailsHappensInTheNext) {
  WorkerEnvs envs(FakeWorker(Options(R"("at": 0, "who": 1)")), 2, kSeed,
                  {.timeout_s = timeout_s()});
  envs.Advance(Commands{kReset, kSkip});
  envs.Advance(Commands{1, kReset});
  EXPECT_EQ(envs.replaced(), 1);
  EXPECT_EQ(envs.result(0).end, End::kCut);
  EXPECT_EQ(envs.result(1).end, End::kRunning);
  EXPECT_THAT(Frame(envs, 1), testing::ElementsAre(Shown(1, 2), 0, 1));
  envs.Advance(Commands{kReset, 2});
  EXPECT_EQ(envs.result(1).reward, 2);
  EXPECT_THAT(Frame(envs, 0), testing::ElementsAre(Shown(0, 2), 0, 1));
}

INSTANTIATE_TEST_SUITE_P(Every, Replaced,
                         testing::Values(R"("crash": 11)", R"("crash": 9)", R"("exit": 0)",
                                         R"("exit": 7)", R"("hang": true)", R"("hang": "loudly")",
                                         R"("nonsense": "reward")", R"("nonsense": "observation")",
                                         R"("nonsense": "end")", R"("nonsense": "turn")",
                                         R"("nonsense": "twice")"),
                         [](const auto& tested) {
                           std::string name;
                           for (const char c : std::string(tested.param)) {
                             if (std::isalnum(static_cast<unsigned char>(c))) name += c;
                           }
                           return name;
                         });

TEST(WorkerEnvs, OneThatFailsAgainAndAgainIsGivenUp) {
  EXPECT_THAT(ErrorOf(R"({"start": "dies", "print": "no licence"})"),
              testing::AllOf(HasSubstr("fake: the process of envs 0 to 1 ended with exit status 3"),
                             HasSubstr("\"no licence\""), HasSubstr("3 times in a row")));
  EXPECT_THAT(ErrorOf(R"({"start": "garbage"})"), HasSubstr("invalid answer instead of its spec"));
  EXPECT_THAT(ErrorOf(R"({"start": "shrinks"})"),
              testing::AllOf(HasSubstr("exit status 4"), HasSubstr("\"sealed\"")));
  EXPECT_THAT(ErrorOf(R"({"at": 0, "exit": 5})", 1),
              testing::AllOf(HasSubstr("exit status 5"), HasSubstr("I have had enough")));
  EXPECT_EQ(ErrorOf(R"({"at": 1, "crash": 6})", 5), "");
  EXPECT_THAT(ErrorOf(R"({"at": 1, "crash": 6})", 6), HasSubstr("was killed by SIGABRT"));
}

TEST(WorkerEnvs, AMistakeIsSaidAtOnce) {
  EXPECT_EQ(ErrorOf(R"({"start": "mistake"})"), "fake: the fake is not in the mood");
}

TEST(WorkerEnvs, OneThatOnlyMakesNoiseIsNotWaitedFor) {
  EXPECT_THAT(ErrorOf(R"({"start": "noise"})"),
              HasSubstr("prints endlessly and does not follow the worker protocol"));
}

TEST(TryWorker, SaysWhatIsPlayed) {
  EXPECT_EQ(TryWorker(FakeWorker(), 60, "").env.action_names.size(), 3u);
}

TEST(TryWorker, SaysWhyNothingIs) {
  EXPECT_EQ(TrialOf(R"({"start": "mistake"})"), "fake: the fake is not in the mood");
  EXPECT_EQ(TrialOf(R"({"start": "dies", "print": "no licence"})"),
            "fake: python3, tried before anything starts, ended with exit status 3, its last words "
            "\"no licence\"; mend it");
  EXPECT_THAT(TrialOf(R"({"at": 0, "exit": 5})"), HasSubstr("ended with exit status 5"));
  EXPECT_THAT(TrialOf(R"({"at": 0, "hang": true})", 0.1), HasSubstr("did not answer within 0.1 s"));
}

// A "+" for each that starts, a "-" before it is ready.
TEST(WorkerEnvs, StartAFewAtATime) {
  const TempDir dir;
  const std::string file = (dir / "starts").string();
  WorkerEnvs envs(FakeWorker("{\"starts\": \"" + file + "\"}"), 9, kSeed, {.per_process = 1});
  int now = 0, most = 0, all = 0;
  for (const char c : dir.Read("starts")) {
    now += c == '+' ? 1 : -1;
    all += c == '+';
    most = std::max(most, now);
  }
  EXPECT_EQ(all, 9);
  EXPECT_LE(most, 4);
}

// An answer that says it has played more frames than it was asked for, or none.
TEST(WorkerEnvs, TheFramesPlayedAreChecked) {
  for (const char* played : {"0", "2", "-1"}) {
    EXPECT_THAT(
        ErrorOf(fmt::format(R"({{"at": 1, "nonsense": "played", "value": {}}})", played), 6),
        HasSubstr(fmt::format("{} of 1 frames played in env 0", played)));
  }
}

TEST(WorkerEnvs, ASilentStartHasALimit) {
  EXPECT_THAT(starling::ErrorOf([&] {
                WorkerEnvs envs(FakeWorker(R"({"start": "silent"})"), 1, kSeed,
                                {.timeout_s = 0.05, .start_timeout_s = 0.05});
              }),
              HasSubstr("did not answer within 0.05 s"));
}

// It loads its libraries in the first reset, while other workers may load, too.
TEST(WorkerEnvs, TheFirstEpisodeMayTakeAsLongAsTheStart) {
  const TempDir dir;
  const std::string file = (dir / "go").string();
  int waits = 0;
  const auto while_waiting = [&] {
    if (++waits == 5) std::ofstream(file) << "on";
  };
  WorkerEnvs envs(FakeWorker("{\"wait_for\": \"" + file + "\"}"), 1, kSeed,
                  {.timeout_s = 0.01, .while_waiting = while_waiting});
  waits = 0;
  envs.Advance(Commands{kReset});
  EXPECT_EQ(envs.result(0).end, End::kRunning);
  EXPECT_EQ(envs.replaced(), 0);
}

TEST(WorkerEnvs, WhoeverWaitsMayDoSomethingMeanwhile) {
  const TempDir dir;
  const std::string once = (dir / "once").string();
  int calls = 0;
  WorkerEnvs envs(FakeWorker(R"({"at": 1, "hang": true, "once": ")" + once + "\"}"), 1, kSeed,
                  {.timeout_s = 0.5, .while_waiting = [&] { ++calls; }});
  envs.Advance(Commands{kReset});
  const int before = calls;  // of the start
  envs.Advance(Commands{1});
  EXPECT_EQ(envs.replaced(), 1);
  EXPECT_GE(calls - before, 1) << "in half a second";
}

TEST(WorkerEnvs, OneThatComesBackDifferentIsGivenUp) {
  const TempDir dir;
  const std::string options =
      R"({"start": "other", "at": 1, "exit": 1, "count": ")" + (dir / "count").string() + "\"}";
  EXPECT_EQ(ErrorOf(options, 1), "");
  EXPECT_THAT(ErrorOf(options, 2), HasSubstr("has other spaces than its predecessor"));
}

// Three deaths with steps played in between are no reason to give up.
TEST(WorkerEnvs, ItMayFailForEverAsLongAsItPlays) {
  WorkerEnvs envs(FakeWorker(R"({"at": 2, "crash": 11})"), 1, kSeed, {});
  for (int death = 1; death <= 4; ++death) {
    envs.Advance(Commands{kReset});
    EXPECT_THAT(Frame(envs, 0), testing::ElementsAre(Shown(0, death), 0, 1));
    envs.Advance(Commands{1});
    EXPECT_EQ(envs.result(0).end, End::kRunning);
    envs.Advance(Commands{1});
    EXPECT_EQ(envs.result(0).end, End::kCut);
    EXPECT_EQ(envs.replaced(), death);
  }
}

TEST(WorkerEnvs, WorkersAreAskedToEnd) {
  const TempDir dir;
  const std::string bye = (dir / "bye").string();
  { const WorkerEnvs envs(FakeWorker(R"({"goodbye": ")" + bye + "\"}"), 1, kSeed, {}); }
  EXPECT_TRUE(std::filesystem::exists(bye));
}

TEST(WorkerEnvs, NoneIsLeftBehindNotEvenADeafOne) {
  { const WorkerEnvs envs(FakeWorker(R"({"deaf": true})"), 3, kSeed, {.per_process = 1}); }
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1);  // no child, living or dead
}

// The output of a worker is read even if it is longer than a pipe holds.
TEST(WorkerEnvs, ATalkativeOneIsNotHeldUp) {
  const WorkerEnvs envs(FakeWorker(R"({"print": ")" + std::string(300'000, 'x') + "\"}"), 1, kSeed,
                        {});
  EXPECT_EQ(envs.replaced(), 0);
}

// A process that answers nonsense instead of its state is replaced, as in play.
TEST(WorkerEnvs, AnswersToAQuestionForTheStateAreChecked) {
  const std::pair<const char*, const char*> cases[] = {
      {"0000000000000080", "gave an invalid answer instead of its state"},  // 2^63 bytes
      {"01000000000000000505", "gave more than its state"},
      {"040000000000000005", "did not answer within 0.3 s"}};
  for (const auto& [state, sentence] : cases) {
    WorkerEnvs envs(FakeWorker(std::string(R"({"state": ")") + state + "\"}"), 2, kSeed,
                    {.per_process = 2, .timeout_s = 0.3});
    envs.Advance(std::vector<std::int32_t>{FrameEnvs::kReset, FrameEnvs::kReset});
    std::vector<std::byte> bytes;
    EXPECT_THAT(starling::ErrorOf<StateError>([&] { SaveState(envs, bytes); }),
                testing::AllOf(HasSubstr("fake: the process of envs 0 to 1 "), HasSubstr(sentence),
                               HasSubstr("instead of saving its state")));
    EXPECT_EQ(envs.replaced(), 1u);
    envs.Advance(std::vector<std::int32_t>{1, FrameEnvs::kReset});
    EXPECT_EQ(envs.result(0).end, End::kCut);
    EXPECT_THAT(Frame(envs, 1), testing::ElementsAre(Shown(1, 2), 0, 1));
  }
}

}  // namespace
}  // namespace starling::envs
