// Processes that hang (SIGSTOP): training goes on without them, and they may come back.
#include "core/child.h"
#include "tests/system/run_fixture.h"

namespace starling {
namespace {

using testing::HasSubstr;

class HangTest : public RunTest {
 protected:
  std::unique_ptr<Process> StartLong(const Strings& settings) {
    return StartTrain(Plus(settings, {Steps(kSeconds / 2), "actors.count=3"}));
  }
  // Stops it, and waits until it is.
  void Hang(pid_t pid) {
    ASSERT_GT(pid, 0);
    ASSERT_EQ(kill(pid, SIGSTOP), 0);
    ASSERT_TRUE(Eventually([&] { return StateOf(pid) == "T"; }));
  }
};

TEST_F(HangTest, AnActorThatHangsHoldsBoundZeroUpUntilTheDeadlineOnly) {
  auto train = StartLong({"staleness.bound=0", "staleness.deadline_s=1"});
  ASSERT_TRUE(AwaitActors(*train, 3));
  Hang(ActorPid(1));
  ExpectDone(WaitFor(*train), kSeconds / 2);  // it never woke up: killed at the end
  EXPECT_THAT(Log(), HasSubstr("actor 1 did not spend its grant within staleness.deadline_s = 1"));
}

TEST_F(HangTest, AnActorThatWakesUpAfterItsDeadlineIsRefusedOnceAndGoesOn) {
  auto train = StartLong({"staleness.bound=0", "staleness.deadline_s=1"});
  ASSERT_TRUE(AwaitActors(*train, 3));
  const pid_t actor = ActorPid(1);
  Hang(actor);
  ASSERT_TRUE(AwaitLog(*train, "did not spend its grant"));
  ASSERT_EQ(kill(actor, SIGCONT), 0);
  ExpectDone(WaitFor(*train), kSeconds / 2);
  EXPECT_GE(Summary()["gradients"]["dropped"].value("no_grant", 0), 1);
  EXPECT_EQ(Summary()["actors"]["restarted"], 0);
}

TEST_F(HangTest, ASilentActorIsGivenUpAndMayJoinAgain) {
  auto train = StartLong({"staleness.bound=0", "wire.timeout_s=1", "wire.heartbeat_ms=100"});
  ASSERT_TRUE(AwaitActors(*train, 3));
  const pid_t actor = ActorPid(2);
  Hang(actor);
  ASSERT_TRUE(AwaitLog(*train, "was silent for wire.timeout_s"));
  ASSERT_EQ(kill(actor, SIGCONT), 0);
  ExpectDone(WaitFor(*train), kSeconds / 2);
  EXPECT_EQ(Summary()["actors"]["restarted"], 0);
}

TEST_F(HangTest, ALearnerThatSleepsAWhileIsFoundAgain) {
  auto train = StartLong({"wire.timeout_s=1", "wire.heartbeat_ms=100"});
  ASSERT_TRUE(AwaitActors(*train, 3));
  const pid_t learner = LearnerPid();
  Hang(learner);
  ASSERT_TRUE(AwaitLog(*train, "the learner was silent for"));
  ASSERT_EQ(kill(learner, SIGCONT), 0);
  ExpectDone(WaitFor(*train), kSeconds / 2);
  EXPECT_EQ(Summary()["learner"]["restarted"], 0);
}

// Ctrl-Z reaches the supervisor alone: children have process groups of their own.
TEST_F(HangTest, AFleetStopsAndGoesOnWithItsSupervisor) {
  auto train = StartTrain({Steps(kEndless), "actors.count=2", "wire.timeout_s=1",
                           "wire.heartbeat_ms=100", "staleness.deadline_s=1"});
  ASSERT_TRUE(AwaitCheckpoint(*train));
  const auto all_are = [&](bool stopped) {
    std::vector<pid_t> pids = {LearnerPid(), ActorPid(0), ActorPid(1), train->pid()};
    return std::ranges::all_of(pids, [&](pid_t pid) { return (StateOf(pid) == "T") == stopped; });
  };
  train->Signal(SIGTSTP);
  ASSERT_TRUE(Eventually([&] { return all_are(true); }));
  std::this_thread::sleep_for(std::chrono::seconds(3));  // longer than wire.timeout_s
  const std::size_t checkpoints = CountInLog("wrote checkpoints/");
  train->Signal(SIGCONT);
  ASSERT_TRUE(Eventually([&] { return CountInLog("wrote checkpoints/") > checkpoints + 1; }));
  EXPECT_TRUE(all_are(false));
  const json summary = Interrupt(*train);
  EXPECT_EQ(summary["actors"]["restarted"], 0);
  EXPECT_EQ(summary["learner"]["restarted"], 0);
  for (const char* text : {"was silent for", "did not spend its grant"}) {
    EXPECT_FALSE(LogHas(text)) << text;
  }
  EXPECT_EQ(CountInLog(" joined (pid "), 2u) << "nobody was thrown out";
}

// Environments that hang are waited for until env.timeout_s, but not by an actor that must leave.
TEST_F(HangTest, AnEnvironmentThatHangsDoesNotHoldTheEndUp) {
  const std::filesystem::path build = std::filesystem::path(STARLING_BIN).parent_path();
  auto train = StartTrain({"env.name=plugin:" + (build / "examples/plugin/glider.so").string(),
                           "env.isolate=true", "env.timeout_s=600", "env.per_process=2",
                           "actors.count=1", "staleness.deadline_s=1", Steps(kEndless)});
  ASSERT_TRUE(AwaitCheckpoint(*train));
  const pid_t actor = ActorPid(0);
  const std::vector<int> workers = ChildrenOf(actor);
  ASSERT_GE(workers.size(), 4u);
  for (const int worker : workers) Hang(worker);
  ASSERT_TRUE(AwaitLog(*train, "did not spend its grant"));
  Interrupt(*train);
  EXPECT_TRUE(LogHas("an environment that has not answered is not waited for"));
  EXPECT_FALSE(LogHas("actor 0 hangs"));
  for (const int worker : workers) EXPECT_EQ(StateOf(worker), "") << "it is left";
}

}  // namespace
}  // namespace starling
