// The supervisor's decisions on its evaluator; times are milliseconds.
#include "fleet/evaluator_policy.h"

#include <gmock/gmock.h>
#include <signal.h>

#include "core/error.h"
#include "tests/fleet/policy_fixture.h"

namespace starling::fleet {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

const Action kStart = StartEvaluator{false}, kStartToFinish = StartEvaluator{true};
const Action kAskToFinish = SendSignal{kEvaluatorSlot, SIGTERM};
const Action kKill = SendSignal{kEvaluatorSlot, SIGKILL};

class EvaluatorPolicyTest : public testing::Test {
 protected:
  // One run of 1000 steps with one actor, started at time 0.
  EvaluatorPolicyTest() : policy_(PolicyLimits{}, 1, {1000}, false, "run/log", /*evaluates=*/true) {
    EXPECT_THAT(policy_.Start(0), Are(StartLearner{false}, StartActor{0}, kStart));
  }
  Actions Dies(std::int64_t now, const ChildExit& exit, bool results = false) {
    return policy_.OnEvaluatorExit(now, 79, exit, results);
  }
  // The learner and its actor leave, all steps done.
  Actions Done(std::int64_t now) {
    policy_.OnStatus(now, Final(1000));
    policy_.OnActorExit(now, 0, 77, Exit(0));
    return policy_.OnLearnerExit(now, 76, Exit(0));
  }

  SupervisorPolicy policy_;
};

TEST_F(EvaluatorPolicyTest, WithoutItThereIsNone) {
  SupervisorPolicy policy(PolicyLimits{}, 1, {1000}, false, "run/log");
  EXPECT_THAT(policy.Start(0), Are(StartLearner{false}, StartActor{0}));
}

TEST_F(EvaluatorPolicyTest, IsNoActor) {
  EXPECT_EQ(policy_.counts().actors_started, 1u);
  Dies(10, kKilled9);
  policy_.Tick(60);
  EXPECT_EQ(policy_.counts().actors_restarted, 0u);
}

TEST_F(EvaluatorPolicyTest, IsStartedAgainLaterEachTime) {
  std::int64_t now = 1000;
  for (const std::int64_t wait : {50, 100, 200, 400}) {
    const Actions died = Dies(now, kKilled9);
    EXPECT_THAT(Deeds(died), IsEmpty());
    EXPECT_THAT(Said(died),
                HasSubstr("the evaluator (pid 79) was killed by SIGKILL; started again"));
    EXPECT_EQ(Said(died, LogLevel::kWarn), "");
    EXPECT_THAT(Deeds(policy_.Tick(now + wait - 1)), IsEmpty()) << wait;
    EXPECT_THAT(Deeds(policy_.Tick(now + wait)), Are(kStart)) << wait;
    now += wait;
  }
}

TEST_F(EvaluatorPolicyTest, IsGivenUpWithOneWarningAndTheRunGoesOn) {
  std::string warnings;
  for (std::int64_t now = 1000; now <= 5000; now += 1000) {
    warnings += Said(Dies(now, kAborted), LogLevel::kWarn);
    policy_.Tick(now + 999);
  }
  EXPECT_EQ(warnings,
            "the evaluator (pid 79) was killed by SIGABRT, 5 times in a row without a result: the "
            "run goes on without evaluation; the reasons are in run/log\n");
  EXPECT_THAT(policy_.Tick(99'000), IsEmpty());
  EXPECT_THAT(Deeds(Done(100'000)), End(kExitDone));
}

TEST_F(EvaluatorPolicyTest, AResultEndsTheRowOfDeaths) {
  for (std::int64_t now = 1000; now <= 9000; now += 1000) {
    Dies(now, kKilled9, /*results=*/now == 4000);
    const bool given_up = Deeds(policy_.Tick(now + 999)).empty();
    EXPECT_EQ(given_up, now >= 8000) << now;  // the fifth since 4000
    if (given_up) break;
  }
}

TEST_F(EvaluatorPolicyTest, TheOperatorsMistakeIsNotTriedAgain) {
  EXPECT_THAT(Said(Dies(10, Exit(kExitUserError)), LogLevel::kWarn),
              HasSubstr("ended with exit status 2: the run goes on without evaluation"));
  EXPECT_THAT(policy_.Tick(10'000), IsEmpty());
}

TEST_F(EvaluatorPolicyTest, OneThatLeavesWithoutBeingAskedIsStartedAgain) {
  Dies(10, Exit(0));
  EXPECT_THAT(Deeds(policy_.Tick(60)), Are(kStart));
}

TEST_F(EvaluatorPolicyTest, ARunThatIsDoneAsksItToFinishAndWaits) {
  EXPECT_THAT(Deeds(Done(1000)), Are(kAskToFinish));
  EXPECT_THAT(policy_.Tick(1299), IsEmpty());
  const Actions said = policy_.Tick(1300);
  ASSERT_EQ(said.size(), 1u);
  EXPECT_TRUE(std::get<Log>(said[0]).on_screen);
  EXPECT_THAT(Said(said), HasSubstr("still being evaluated, Ctrl-C skips that"));
  EXPECT_THAT(policy_.Tick(3'600'000), IsEmpty()) << "however long it takes";
  EXPECT_THAT(Deeds(Dies(3'600'001, Exit(0), true)), End(kExitDone));
}

TEST_F(EvaluatorPolicyTest, OneThatFinishesSoonIsNotSpokenOf) {
  Done(1000);
  const Actions end = Dies(1100, Exit(0));
  EXPECT_THAT(Deeds(end), End(kExitDone));
  EXPECT_EQ(Said(end), "the evaluator (pid 79) ended with exit status 0\n");
}

TEST_F(EvaluatorPolicyTest, OneThatDiesOverTheLastWeightsIsStartedAgainForThem) {
  Done(1000);
  EXPECT_THAT(Deeds(Dies(1100, kKilled9)), IsEmpty());
  EXPECT_THAT(Deeds(policy_.Tick(1150)), Are(kStartToFinish));
  EXPECT_THAT(Deeds(Dies(1200, Exit(0), true)), End(kExitDone));
}

TEST_F(EvaluatorPolicyTest, OneThatWasDeadWhenTheRunEndedIsWaitedFor) {
  Dies(990, kKilled9);  // to be started again at 1040
  EXPECT_THAT(Deeds(Done(1000)), IsEmpty());
  EXPECT_THAT(Deeds(policy_.Tick(1040)), Are(kStartToFinish));
}

TEST_F(EvaluatorPolicyTest, GivenUpAtTheEndTheRunIsDoneAllTheSame) {
  Done(1000);
  for (std::int64_t now = 2000; now <= 5000; now += 1000) {
    EXPECT_THAT(Deeds(Dies(now, kAborted)), IsEmpty());
    EXPECT_THAT(Deeds(policy_.Tick(now + 999)), Are(kStartToFinish));
  }
  EXPECT_THAT(Deeds(Dies(6000, kAborted)), End(kExitDone));
}

TEST_F(EvaluatorPolicyTest, ASignalDuringTheLastEvaluationKillsItAndTheRunIsDone) {
  Done(1000);
  EXPECT_THAT(Deeds(policy_.OnStopSignal(2000, SIGINT)), Are(kKill));
  EXPECT_THAT(policy_.Tick(2300), IsEmpty());
  EXPECT_THAT(Deeds(Dies(2301, kKilled9)), End(kExitDone));
}

TEST_F(EvaluatorPolicyTest, ASignalWhileItWaitsToBeStartedAgainEndsTheRun) {
  Done(1000);
  Dies(1100, kKilled9);
  EXPECT_THAT(Deeds(policy_.OnStopSignal(1110, SIGINT)), End(kExitDone));
}

TEST_F(EvaluatorPolicyTest, AnInterruptedRunKillsItAtOnce) {
  EXPECT_THAT(Deeds(policy_.OnStopSignal(1000, SIGINT)),
              Are(kKill, SendSignal{kLearnerSlot, SIGTERM}));
  policy_.OnActorExit(1100, 0, 77, Exit(0));
  policy_.OnLearnerExit(1100, 76, Exit(0));
  EXPECT_THAT(Deeds(Dies(1101, kKilled9)), End(kExitInterrupted));
}

TEST_F(EvaluatorPolicyTest, ASignalAfterTheLastStepDoesNotLeaveItTheLastWord) {
  policy_.OnStatus(1000, Final(1000));
  EXPECT_THAT(Deeds(policy_.OnStopSignal(1001, SIGINT)),
              Are(kKill, SendSignal{kLearnerSlot, SIGTERM}));
  Dies(1002, kKilled9);
  policy_.OnActorExit(1003, 0, 77, Exit(0));
  EXPECT_THAT(Deeds(policy_.OnLearnerExit(1004, 76, Exit(0))), End(kExitDone));
}

TEST_F(EvaluatorPolicyTest, ARunThatFailsKillsIt) {
  EXPECT_THAT(Deeds(policy_.OnLearnerExit(1000, 76, Exit(kExitUserError))), Are(kKill));
}

TEST_F(EvaluatorPolicyTest, ALearnerThatIsStartedAgainDoesNotConcernIt) {
  policy_.OnStatus(900, StatusAt(160));
  EXPECT_THAT(Deeds(policy_.OnLearnerExit(1000, 76, kKilled9)),
              testing::Not(testing::Contains(kKill)));
}

}  // namespace
}  // namespace starling::fleet
