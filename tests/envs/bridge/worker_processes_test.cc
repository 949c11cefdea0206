// How the processes of WorkerEnvs start, fail, are replaced and end.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/wait.h>

#include <algorithm>
#include <cctype>
#include <climits>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "envs/bridge/worker_envs.h"
#include "tests/envs/bridge/fake_worker.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"

namespace starling::envs {
namespace {

using testing::HasSubstr;

// Why the envs are given up within so many advances, of which every second is a reset; "": not.
std::string ErrorAfter(const std::string& options, int advances = 0) {
  return ErrorOf([&] {
    WorkerEnvs envs(FakeWorker(options), 2, kSeed, {});
    for (int i = 0; i < advances; ++i) {
      envs.Advance(i % 2 == 0 ? Commands{kReset, kReset} : Commands{1, 1});
    }
  });
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
  EXPECT_THAT(ErrorAfter(R"({"start": "dies", "print": "no licence"})"),
              testing::AllOf(HasSubstr("fake: the process of envs 0 to 1 ended with exit status 3"),
                             HasSubstr("\"no licence\""), HasSubstr("3 times in a row")));
  EXPECT_THAT(ErrorAfter(R"({"start": "garbage"})"),
              HasSubstr("invalid answer instead of its spec"));
  EXPECT_THAT(ErrorAfter(R"({"start": "shrinks"})"),
              testing::AllOf(HasSubstr("exit status 4"), HasSubstr("\"sealed\"")));
  EXPECT_THAT(ErrorAfter(R"({"at": 0, "exit": 5})", 1),
              testing::AllOf(HasSubstr("exit status 5"), HasSubstr("I have had enough")));
  EXPECT_EQ(ErrorAfter(R"({"at": 1, "crash": 6})", 5), "");
  EXPECT_THAT(ErrorAfter(R"({"at": 1, "crash": 6})", 6), HasSubstr("was killed by SIGABRT"));
}

TEST(WorkerEnvs, AMistakeIsSaidAtOnce) {
  EXPECT_EQ(ErrorAfter(R"({"start": "mistake"})"), "fake: the fake is not in the mood");
}

TEST(TryWorker, AMistakeInTheOptionsIsOneOfTheirKey) {
  try {
    TryWorker(FakeWorker(R"({"start": "option"})"), 60, "");
    ADD_FAILURE() << "no mistake";
  } catch (const UserError& error) {
    EXPECT_EQ(error.key(), "env.options");
  }
}

TEST(WorkerEnvs, OneThatOnlyMakesNoiseIsNotWaitedFor) {
  EXPECT_THAT(ErrorAfter(R"({"start": "noise"})"),
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
        ErrorAfter(fmt::format(R"({{"at": 1, "nonsense": "played", "value": {}}})", played), 6),
        HasSubstr(fmt::format("{} of 1 frames played in env 0", played)));
  }
}

TEST(WorkerEnvs, ASilentStartHasALimit) {
  EXPECT_THAT(ErrorOf([&] {
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
  const auto while_waiting = [&](std::int64_t) {
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
  std::int64_t asked_ms = 0;
  WorkerEnvs envs(FakeWorker(R"({"at": 1, "hang": true, "once": ")" + once + "\"}"), 1, kSeed,
                  {.timeout_s = 0.5, .while_waiting = [&](std::int64_t for_ms) {
                     ++calls;
                     asked_ms = std::max(asked_ms, for_ms);
                   }});
  envs.Advance(Commands{kReset});
  calls = 0, asked_ms = 0;  // forget those of the start
  envs.Advance(Commands{1});
  EXPECT_EQ(envs.replaced(), 1);
  EXPECT_GE(calls, 1) << "in half a second";
  EXPECT_GE(asked_ms, 500);
}

// Between two lines of a process that prints without a pause, too.
TEST(WorkerEnvs, WhoeverWaitsForATalkativeOneMayDoSomethingMeanwhile) {
  const TempDir dir;
  const std::string file = (dir / "go").string();
  int calls = 0;
  bool starts = true;
  WorkerEnvs envs(FakeWorker("{\"chats\": true, \"wait_for\": \"" + file + "\"}"), 1, kSeed,
                  {.while_waiting = [&](std::int64_t) {
                    if (!starts && ++calls == 20) std::ofstream(file) << "on";
                  }});
  starts = false;
  envs.Advance(Commands{kReset});
  EXPECT_EQ(envs.result(0).end, End::kRunning);
}

TEST(WorkerEnvs, OneThatComesBackDifferentIsGivenUp) {
  const TempDir dir;
  const std::string options =
      R"({"start": "other", "at": 1, "exit": 1, "count": ")" + (dir / "count").string() + "\"}";
  EXPECT_EQ(ErrorAfter(options, 1), "");
  EXPECT_THAT(ErrorAfter(options, 2), HasSubstr("has other spaces than its predecessor"));
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

// Env 0 hangs, and an exception ends the wait for it. The answer of env 1 is unread: its process
// has its second to end.
TEST(WorkerEnvs, WhoHasAnsweredMayEndInGoodOrderWhileAnotherHangs) {
  const TempDir dir;
  const std::string bye = (dir / "bye").string();
  const auto program =
      FakeWorker(R"({"at": 2, "hang": true, "lingers": 0.2, "goodbye": ")" + bye + "\"}");
  int left = INT_MAX;
  {
    WorkerEnvs envs(program, 2, kSeed, {.per_process = 1, .while_waiting = [&](std::int64_t) {
                                          if (--left == 0) throw std::runtime_error("leave");
                                        }});
    envs.Advance(Commands{kReset, kReset});
    envs.Advance(Commands{1, kSkip});
    left = 10;
    EXPECT_THROW(envs.Advance(Commands{1, 1}), std::runtime_error);
  }
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
    envs.Advance(Commands{kReset, kReset});
    std::vector<std::byte> bytes;
    EXPECT_THAT(ErrorOf<StateError>([&] { SaveState(envs, bytes); }),
                testing::AllOf(HasSubstr("fake: the process of envs 0 to 1 "), HasSubstr(sentence),
                               HasSubstr("instead of saving its state")));
    EXPECT_EQ(envs.replaced(), 1u);
    envs.Advance(Commands{1, kReset});
    EXPECT_EQ(envs.result(0).end, End::kCut);
    EXPECT_THAT(Frame(envs, 1), testing::ElementsAre(Shown(1, 2), 0, 1));
  }
}

}  // namespace
}  // namespace starling::envs
