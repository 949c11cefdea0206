// How a run ends: by itself, by a signal, with a learner or actors that hang.
#include <gmock/gmock.h>
#include <signal.h>

#include "core/error.h"
#include "tests/fleet/policy_fixture.h"

namespace starling::fleet {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

using EndingOfOne = PolicyOf<1>;
using EndingOfTwo = PolicyOf<2>;

TEST_F(EndingOfTwo, CompleteRunEndsWithZeroWhenAllHaveLeft) {
  policy_.OnStatus(10, Final(1000));
  EXPECT_THAT(Deeds(policy_.OnActorExit(11, 0, 77, Exit(0))), IsEmpty());
  EXPECT_THAT(Deeds(policy_.OnLearnerExit(12, 76, Exit(0))), IsEmpty());
  EXPECT_THAT(Deeds(policy_.OnActorExit(13, 1, 78, Exit(0))), End(kExitDone));
  EXPECT_THAT(policy_.Tick(99'999), IsEmpty());
  EXPECT_EQ(policy_.counts().actors_restarted, 0u);
}

// run.until_return.
TEST(EndingTest, ARunThatEndsByItsScoreIsComplete) {
  const auto status_after = [](std::uint64_t episodes, double mean_return) {
    SupervisorPolicy policy(PolicyLimits{}, 0, {.steps = 1000, .until_return = 40}, false, "log");
    policy.Start(0);
    learner::RunStatus last = Final(500);
    last.episodes = episodes;
    last.mean_return = mean_return;
    policy.OnStatus(10, last);
    const Actions end = Deeds(policy.OnLearnerExit(11, 76, Exit(0)));
    return end.size() == 1 ? std::get<Finish>(end[0]).exit_status : -1;
  };
  EXPECT_EQ(status_after(100, 40), kExitDone);
  EXPECT_EQ(status_after(99, 50), kExitInterrupted) << "someone stopped the learner";
  EXPECT_EQ(status_after(100, 39.9), kExitInterrupted);
}

TEST_F(EndingOfOne, ActorThatHeardOfTheEndBeforeUsIsNotReplaced) {
  policy_.OnActorExit(10, 0, 77, Exit(0));
  EXPECT_THAT(Deeds(policy_.Tick(1009)), IsEmpty());
  policy_.OnStatus(1009, Final(1000));
  EXPECT_THAT(Deeds(policy_.Tick(1010)), IsEmpty());
  EXPECT_THAT(Deeds(policy_.OnLearnerExit(1011, 76, Exit(0))), End(kExitDone));
}

// Its last checkpoint may take longer than a replacement waits.
TEST_F(EndingOfTwo, ActorsThatLeaveWhileTheLastCheckpointIsWrittenAreNotReplaced) {
  policy_.OnActorExit(9, 1, 78, Exit(0));  // heard of it first
  policy_.OnStatus(10, Done());
  policy_.OnActorExit(11, 0, 77, Exit(0));
  EXPECT_THAT(Deeds(policy_.Tick(60'000)), IsEmpty());
  policy_.OnStatus(60'001, Final(1000));
  EXPECT_THAT(Deeds(policy_.OnLearnerExit(60'002, 76, Exit(0))), End(kExitDone));
  EXPECT_EQ(policy_.counts().actors_restarted, 0u);
}

TEST_F(EndingOfOne, LearnerThatDiesOverItsLastCheckpointIsStartedAgainWithItsActors) {
  policy_.OnStatus(5, StatusAt(500));
  policy_.OnStatus(10, Done());
  policy_.OnActorExit(11, 0, 77, Exit(0));
  ExpectLearnerAgain(policy_, policy_.OnLearnerExit(12, 76, kKilled9), 12);
  EXPECT_THAT(Deeds(policy_.Tick(13)), Are(StartActor{0}));
}

TEST_F(EndingOfOne, ActorThatSomeoneAskedToLeaveIsReplaced) {
  policy_.OnActorExit(10, 0, 77, Exit(0));
  EXPECT_THAT(Deeds(policy_.Tick(1010)), Are(StartActor{0}));
}

TEST_F(EndingOfTwo, ActorsThatStayAfterTheEndAreHelpedOut) {
  policy_.OnStatus(100, Final(1000));
  policy_.OnLearnerExit(100, 76, Exit(0));
  policy_.OnActorExit(150, 0, 77, Exit(0));
  EXPECT_THAT(Deeds(policy_.Tick(599)), IsEmpty());
  EXPECT_THAT(Deeds(policy_.Tick(600)), Are(SendSignal{1, SIGTERM}));
  EXPECT_THAT(Deeds(policy_.Tick(2099)), IsEmpty());
  const Actions kill = policy_.Tick(2100);
  EXPECT_THAT(Deeds(kill), Are(SendSignal{1, SIGKILL}));
  EXPECT_THAT(Said(kill, LogLevel::kWarn), HasSubstr("actor 1 hangs"));
  EXPECT_THAT(Deeds(policy_.OnActorExit(2101, 1, 78, kKilled9)), End(kExitDone));
}

TEST_F(EndingOfOne, LearnerThatHangsAfterItsLastLineIsKilledAndTheRunIsDone) {
  policy_.OnStatus(100, Final(1000));
  EXPECT_THAT(Deeds(policy_.Tick(4299)), IsEmpty());
  EXPECT_THAT(Deeds(policy_.Tick(4300)), Are(SendSignal{kLearnerSlot, SIGKILL}));
  policy_.OnActorExit(4301, 0, 77, Exit(0));
  EXPECT_THAT(Deeds(policy_.OnLearnerExit(4302, 76, kKilled9)), End(kExitDone));
}

TEST_F(EndingOfOne, LastCheckpointThatCouldNotBeWrittenIsAFailure) {
  policy_.OnStatus(100, Final(1000));
  policy_.OnActorExit(101, 0, 77, Exit(0));
  EXPECT_THAT(Deeds(policy_.OnLearnerExit(102, 76, Exit(1), "disk full")),
              End(kExitFailed, "the learner (pid 76) ended with exit status 1: disk full"));
}

TEST_F(EndingOfOne, LearnerThatSomeoneElseStoppedEndsTheRunAsInterrupted) {
  policy_.OnStatus(100, Final(480));
  const Actions left = policy_.OnLearnerExit(110, 76, Exit(0));
  EXPECT_THAT(Said(left, LogLevel::kWarn), HasSubstr("asked to stop, and not by us"));
  EXPECT_THAT(Deeds(policy_.OnActorExit(120, 0, 77, Exit(0))), End(kExitInterrupted));
}

TEST_F(EndingOfOne, InterruptAsksTheLearnerAndLeavesTheActorsToIt) {
  policy_.OnStatus(100, StatusAt(160));
  EXPECT_THAT(Deeds(policy_.OnStopSignal(200, SIGINT)), Are(SendSignal{kLearnerSlot, SIGTERM}));
  policy_.OnStatus(300, Final(320));
  EXPECT_THAT(Deeds(policy_.OnLearnerExit(310, 76, Exit(0))), IsEmpty());
  EXPECT_THAT(Deeds(policy_.OnActorExit(320, 0, 77, Exit(0))), End(kExitInterrupted));
  EXPECT_EQ(policy_.last_status()->steps, 320u);
}

TEST_F(EndingOfTwo, InterruptIsOverInLessThanFiveSecondsWhateverHangs) {
  policy_.OnStatus(50, StatusAt(160));
  policy_.OnStopSignal(100, SIGTERM);
  EXPECT_THAT(Deeds(policy_.Tick(2399)), IsEmpty());
  EXPECT_THAT(Deeds(policy_.Tick(2400)), Are(SendSignal{0, SIGTERM}, SendSignal{1, SIGTERM}));
  EXPECT_THAT(Deeds(policy_.Tick(3900)), Are(SendSignal{0, SIGKILL}, SendSignal{1, SIGKILL}));
  EXPECT_THAT(Deeds(policy_.Tick(4299)), IsEmpty());
  EXPECT_THAT(Deeds(policy_.Tick(4300)), Are(SendSignal{kLearnerSlot, SIGKILL}));
  EXPECT_THAT(Deeds(policy_.Tick(4400)), IsEmpty()) << "each is killed once";
  policy_.OnActorExit(4401, 0, 77, kKilled9);
  policy_.OnActorExit(4401, 1, 78, kKilled9);
  const Actions end = policy_.OnLearnerExit(4402, 76, kKilled9);
  EXPECT_THAT(Deeds(end), End(kExitInterrupted));
  EXPECT_THAT(Said(end, LogLevel::kWarn),
              HasSubstr("it wrote no last checkpoint; --resume first redoes"));
}

TEST_F(EndingOfOne, ALastCheckpointThatGrowsIsWaitedFor) {
  const auto saving = [](std::uint64_t written) {
    learner::RunStatus status = Final(160);
    status.final = false;
    status.saving = {written, 1200};
    return status;
  };
  policy_.OnStopSignal(100, SIGINT);
  policy_.OnActorExit(200, 0, 77, Exit(0));
  std::int64_t now = 200;
  for (std::uint64_t written = 0; written < 1200; written += 8) {
    now += 4000;
    policy_.OnStatus(now, saving(written));
    ASSERT_THAT(Deeds(policy_.Tick(now)), IsEmpty()) << now;
  }
  // So is one that waits for room.
  for (std::uint64_t waited = 1; waited < 100; ++waited) {
    now += 4000;
    learner::RunStatus status = saving(1192);
    status.saving->waited = waited;
    policy_.OnStatus(now, status);
    ASSERT_THAT(Deeds(policy_.Tick(now)), IsEmpty()) << now;
  }
  policy_.OnStatus(now, saving(1192));
  policy_.OnStatus(now + 4000, saving(1192));  // it reports, but no byte was written
  EXPECT_THAT(Deeds(policy_.Tick(now + 4199)), IsEmpty());
  const Actions kill = policy_.Tick(now + 4200);
  EXPECT_THAT(Deeds(kill), Are(SendSignal{kLearnerSlot, SIGKILL}));
  EXPECT_THAT(Said(kill), HasSubstr("its last checkpoint does not grow: killed"));
}

// It builds a large net, and does not look for signals meanwhile.
TEST_F(EndingOfOne, ALearnerThatIsStillStartingHasOneSecond) {
  const Actions stop = policy_.OnStopSignal(100, SIGINT);
  EXPECT_THAT(Said(stop), HasSubstr("SIGINT: the learner is still starting and has nothing to save;"
                                    " the run ends; once more ends it at once"));
  EXPECT_THAT(Deeds(policy_.Tick(1099)), IsEmpty());
  const Actions kill = policy_.Tick(1100);
  EXPECT_THAT(Deeds(kill), Are(SendSignal{kLearnerSlot, SIGKILL}));
  EXPECT_THAT(Said(kill), HasSubstr("did not end in time, it was still starting: killed"));
}

TEST_F(EndingOfOne, ALearnerThatReportsInThatSecondHasTimeForItsCheckpoint) {
  policy_.OnStopSignal(100, SIGINT);
  policy_.OnActorExit(200, 0, 77, Exit(0));
  policy_.OnStatus(1000, StatusAt(0));
  EXPECT_THAT(Deeds(policy_.Tick(5199)), IsEmpty());
  EXPECT_THAT(Deeds(policy_.Tick(5200)), Are(SendSignal{kLearnerSlot, SIGKILL}));
}

TEST_F(EndingOfOne, NothingIsStartedWhileTheRunEnds) {
  policy_.OnActorExit(10, 0, 77, kAborted);  // to be replaced at 60
  policy_.OnStopSignal(20, SIGINT);
  EXPECT_THAT(Deeds(policy_.Tick(60)), IsEmpty());
  EXPECT_THAT(Deeds(policy_.OnLearnerExit(70, 76, kAborted)), End(kExitInterrupted));
}

TEST_F(EndingOfOne, InterruptWithoutALearnerStopsTheActors) {
  EXPECT_THAT(Said(policy_.OnLearnerExit(10, 76, kAborted)),
              HasSubstr("SIGABRT before its first report; started again in 50 ms"));
  EXPECT_THAT(Deeds(policy_.OnStopSignal(20, SIGINT)), IsEmpty());
  EXPECT_THAT(Deeds(policy_.Tick(520)), Are(SendSignal{0, SIGTERM}));
  EXPECT_THAT(Deeds(policy_.OnActorExit(530, 0, 77, Exit(0))), End(kExitInterrupted));
}

TEST_F(EndingOfTwo, SecondSignalKillsAtOnce) {
  policy_.OnStopSignal(100, SIGINT);
  policy_.OnActorExit(110, 0, 77, Exit(0));
  EXPECT_THAT(Deeds(policy_.OnStopSignal(300, SIGINT)),
              Are(SendSignal{kLearnerSlot, SIGKILL}, SendSignal{1, SIGKILL}));
  policy_.OnLearnerExit(301, 76, kKilled9);
  EXPECT_THAT(Deeds(policy_.OnActorExit(302, 1, 78, kKilled9)), End(kExitInterrupted));
}

// `timeout` sends its signal to the process and then to the process group.
TEST_F(EndingOfOne, OneSignalDeliveredTwiceIsNotASecondOne) {
  policy_.OnStopSignal(100, SIGTERM);
  EXPECT_THAT(policy_.OnStopSignal(149, SIGTERM), IsEmpty());
  EXPECT_THAT(Deeds(policy_.OnStopSignal(150, SIGTERM)),
              Are(SendSignal{kLearnerSlot, SIGKILL}, SendSignal{0, SIGKILL}));
}

TEST_F(EndingOfOne, InterruptAfterTheLastStepDoesNotSpoilIt) {
  policy_.OnStatus(100, Final(1000));
  policy_.OnStopSignal(101, SIGINT);
  policy_.OnLearnerExit(102, 76, Exit(0));
  EXPECT_THAT(Deeds(policy_.OnActorExit(103, 0, 77, Exit(0))), End(kExitDone));
}

TEST(EndingTest, InterruptWhileTheLastCheckpointIsWrittenIsJudgedByThatCheckpoint) {
  const auto status_after = [](const ChildExit& exit) {
    SupervisorPolicy policy = Started(1);
    policy.OnStatus(100, Done());
    policy.OnActorExit(101, 0, 77, Exit(0));
    policy.OnStopSignal(102, SIGINT);
    const Actions end = Deeds(policy.OnLearnerExit(4400, 76, exit));
    return end.size() == 1 ? std::get<Finish>(end[0]).exit_status : -1;
  };
  EXPECT_EQ(status_after(Exit(0)), kExitDone);
  EXPECT_EQ(status_after(Exit(1)), kExitFailed);
  EXPECT_EQ(status_after(kKilled9), kExitInterrupted);
}

}  // namespace
}  // namespace starling::fleet
