// `starling stop`: a fleet that ends in order.
#include <fstream>

#include "learner/storage/checkpoint.h"
#include "learner/storage/run_lock.h"
#include "tests/system/run_fixture.h"

namespace starling {
namespace {

using testing::HasSubstr;

class StopTest : public RunTest {
 protected:
  std::unique_ptr<Process> Stop(const Strings& more = {}) {
    return Start("starling", Plus({"stop", run().string()}, more));
  }
  // By hand; it is at work when this returns.
  std::unique_ptr<Process> LearnerAtWork() {
    auto learner = StartLearner({Steps(kEndless), "actors.count=2"});
    EXPECT_TRUE(AwaitSaid(*learner, "listening on"));
    return learner;
  }
  // All that was applied is in the last checkpoint.
  void ExpectEndedInOrder() const {
    const json summary = Summary();
    ASSERT_TRUE(summary.is_object()) << said_;
    const auto last = learner::LastGood(run() / "checkpoints");
    ASSERT_TRUE(last.checkpoint);
    EXPECT_EQ(last.checkpoint->version, summary["updates"]);
    ExpectNothingLeft();
  }
};

TEST_F(StopTest, ASupervisedFleet) {
  auto train = StartTrain({Steps(kEndless), "actors.count=2"});
  ASSERT_TRUE(AwaitActors(*train, 2));
  const auto stop = Stop();
  EXPECT_EQ(WaitFor(*stop), 0) << stop->err();
  EXPECT_FALSE(train->Running()) << "its supervisor is waited for, too";
  EXPECT_EQ(WaitFor(*train), 130);
  EXPECT_THAT(stop->out(), HasSubstr("has ended; its last checkpoint is " + run().string()));
  ExpectEndedInOrder();
}

TEST_F(StopTest, AFleetByHand) {
  const auto learner = LearnerAtWork();
  const auto one = StartActor(), other = StartActor();
  ASSERT_TRUE(AwaitSaid(*learner, "actor 1 joined"));
  const auto stop = Stop();
  EXPECT_EQ(WaitFor(*stop), 0) << stop->err();
  EXPECT_EQ(WaitFor(*learner), 130);
  ExpectAllEnd(one, other);
  ExpectEndedInOrder();
}

TEST_F(StopTest, NobodyIsThere) {
  const auto nothing = Stop();
  EXPECT_EQ(WaitFor(*nothing), 2);
  EXPECT_THAT(nothing->err(), HasSubstr("is no run directory"));
  ASSERT_EQ(Train({Steps(8'000)}), 0) << said_;
  const auto over = Stop();
  EXPECT_EQ(WaitFor(*over), 2);
  EXPECT_THAT(over->err(), HasSubstr("no learner of yours runs on it on this machine"));
  // A redo has the run, or another host.
  const LockedFile lock = learner::LockRun(run());
  const auto early = Stop();
  EXPECT_EQ(WaitFor(*early), 2);
  EXPECT_THAT(early->err(), HasSubstr("no learner is ready to be stopped, but process id " +
                                      std::to_string(getpid()) + " on "));
  std::ofstream(run() / "lock") << "process id 7 on elsewhere";
  const auto elsewhere = Stop();
  EXPECT_EQ(WaitFor(*elsewhere), 2);
  EXPECT_THAT(elsewhere->err(), HasSubstr("call this on the learner's machine (process id 7 on "
                                          "elsewhere has the run)"));
}

TEST_F(StopTest, OneThatDoesNotEndIsNotWaitedForForEver) {
  auto train = StartTrain({Steps(kEndless), "actors.count=1"});
  ASSERT_TRUE(AwaitActors(*train, 1));
  const pid_t learner = LearnerPid();
  ASSERT_EQ(kill(learner, SIGSTOP), 0);
  const auto first = Stop({"--timeout", "0.1"});
  EXPECT_EQ(WaitFor(*first), 1);
  EXPECT_THAT(first->err(), HasSubstr("did not end within 0.1 s"));
  ASSERT_EQ(kill(learner, SIGCONT), 0);
  EXPECT_EQ(WaitFor(*train), 130);
  ExpectEndedInOrder();
}

// It has no supervisor; a second signal does not make it drop its last checkpoint.
TEST_F(StopTest, OneByHandIsWaitedForAgain) {
  const auto learner = LearnerAtWork();
  learner->Signal(SIGSTOP);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(WaitFor(*Stop({"--timeout", "0.1"})), 1);
  learner->Signal(SIGCONT);
  EXPECT_EQ(WaitFor(*learner), 130);
  ExpectEndedInOrder();
}

TEST_F(StopTest, WhatIsLostIsSaid) {
  const auto learner = LearnerAtWork();
  learner->Signal(SIGSTOP);
  const auto stop = Stop();
  // Among the signals that wait for it is SIGTERM.
  const auto told = [&] {
    const std::string text = TextOf(fmt::format("/proc/{}/status", learner->pid()));
    const std::size_t at = text.find("ShdPnd:");
    return at != std::string::npos &&
           (std::stoull(text.substr(at + 7), nullptr, 16) >> (SIGTERM - 1) & 1) != 0;
  };
  ASSERT_TRUE(Eventually([&] { return told() || !stop->Running(); }));
  learner->Signal(SIGKILL);
  EXPECT_EQ(WaitFor(*stop), 1);
  EXPECT_THAT(stop->err(), HasSubstr("without a checkpoint of its last updates; the newest is "));
  EXPECT_EQ(stop->out(), "");
}

}  // namespace
}  // namespace starling
