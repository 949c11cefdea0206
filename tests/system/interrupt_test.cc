// Ctrl-C and its kin: a final checkpoint and a summary within five seconds; once more, at once.
#include "tests/system/run_fixture.h"

namespace starling {
namespace {

using testing::HasSubstr;

// Five seconds are promised; the rest is for a loaded machine.
constexpr std::chrono::seconds kEnd{20};

class InterruptTest : public RunTest {
 protected:
  // So many steps that it cannot have ended by itself.
  void SetUp() override {
    train_ = StartTrain({Steps(kEndless), "checkpoint.every_steps=16000", "actors.count=3",
                         "loss.entropy_end=0.03"});
    ASSERT_TRUE(AwaitCheckpoint(*train_));
  }
  json InterruptInTime(Process& train, int signal = SIGINT) {
    const auto begin = std::chrono::steady_clock::now();
    const json summary = Interrupt(train, signal);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, kEnd);
    return summary;
  }
  std::unique_ptr<Process> train_;
};

class SignalTest : public InterruptTest, public testing::WithParamInterface<int> {};

TEST_P(SignalTest, EndsWithAFinalCheckpointFromWhichTheRunGoesOn) {
  const json interrupted = InterruptInTime(*train_, GetParam());
  EXPECT_THAT(said_, testing::Not(HasSubstr("is lost")));
  ExpectFinalCheckpoint(interrupted);
  EXPECT_THAT(said_, HasSubstr("train --resume " + run().string()));
  const auto steps = interrupted["steps"].get<std::uint64_t>();
  ASSERT_GT(steps, 0u);

  const std::uint64_t more = steps + 16'000;
  auto resumed = Start("starling", ResumeWords({"run.steps=" + std::to_string(more)}));
  ExpectDone(WaitFor(*resumed), more);
  const std::string name = interrupted["final_checkpoint"];
  EXPECT_THAT(Log(), HasSubstr("resuming from " + (run() / name).string()));
  EXPECT_THAT(Log(), HasSubstr(", " + std::to_string(steps) + " steps)"));
  const json summary = Summary();
  EXPECT_GT(summary["updates"], interrupted["updates"]);
  EXPECT_GT(summary["episodes"], interrupted["episodes"]);
  EXPECT_GE(summary["gradients"]["received"], interrupted["gradients"]["applied"]);
  EXPECT_GT(summary["seconds"], interrupted["seconds"]);
  EXPECT_EQ(summary["learner"]["restarted"], 0);
}

INSTANTIATE_TEST_SUITE_P(Signals, SignalTest, testing::Values(SIGINT, SIGTERM, SIGHUP),
                         [](const auto& test) {
                           return test.param == SIGINT    ? "Int"
                                  : test.param == SIGTERM ? "Term"
                                                          : "Hup";
                         });

TEST_F(InterruptTest, ASecondOneEndsAtOnce) {
  kill(LearnerPid(), SIGSTOP);  // it will not come to write its checkpoint
  train_->Signal(SIGINT);
  ASSERT_TRUE(AwaitLog(*train_, "once more ends it at once"));
  // Two within 50 ms are one, delivered twice: repeated until it is heard.
  ASSERT_TRUE(Eventually([&] {
    train_->Signal(SIGINT);
    return !train_->Running();
  }));
  EXPECT_EQ(WaitFor(*train_), 130);
  EXPECT_THAT(Log(), HasSubstr("a second signal (SIGINT): everything is killed"));
  EXPECT_THAT(Log(), testing::Not(HasSubstr("did not end in time"))) << "it waited";
  ExpectSound(Summary());
  ExpectNothingLeft();
}

TEST_F(InterruptTest, ALearnerThatHangsDoesNotHoldTheEndUp) {
  // It reports several times between two lines of the metrics: its checkpoint is known by then.
  ASSERT_TRUE(Eventually([&] { return CountIn(TextOf(run() / "metrics.jsonl"), "\n") >= 2; }));
  kill(LearnerPid(), SIGSTOP);
  const json summary = InterruptInTime(*train_);
  EXPECT_THAT(Log(), HasSubstr("the learner did not end in time: killed"));
  EXPECT_TRUE(std::filesystem::exists(run() / summary["final_checkpoint"].get<std::string>()));
}

TEST_F(InterruptTest, AFleetThatHangsAltogetherIsGoneInTime) {
  for (const char* program : {"starling-learner", "starling-actor"}) {
    for (const Running& process : Find(program)) kill(process.pid, SIGSTOP);
  }
  InterruptInTime(*train_);
}

TEST_F(InterruptTest, ALearnerStoppedBySomeoneElseEndsTheRun) {
  ASSERT_EQ(kill(LearnerPid(), SIGTERM), 0);
  EXPECT_EQ(WaitFor(*train_), 130) << said_;
  EXPECT_THAT(Log(), HasSubstr("was asked to stop, and not by us"));
  const json summary = Summary();
  ExpectSound(summary);
  ExpectFinalCheckpoint(summary);
  ExpectNothingLeft();
}

TEST_F(InterruptTest, AnActorStoppedBySomeoneElseIsReplaced) {
  const pid_t before = ActorPid(1);
  ASSERT_EQ(kill(before, SIGTERM), 0);
  EXPECT_TRUE(Eventually([&] {
    const pid_t now = ActorPid(1);
    return now != 0 && now != before;
  }));
  EXPECT_EQ(Interrupt(*train_)["actors"]["restarted"], 1);
}

using EarlyInterruptTest = RunTest;

TEST_F(EarlyInterruptTest, RightAtTheStart) {
  auto train = StartTrain({Steps(kEndless), "actors.count=3"});
  ASSERT_TRUE(Eventually([&] { return std::filesystem::exists(run() / "log"); }));
  Interrupt(*train);
}

TEST_F(EarlyInterruptTest, WhileActorsAreMissing) {
  auto train = StartTrain({Steps(kEndless), "actors.count=2", "updates.start_with=2"});
  ASSERT_TRUE(Eventually([&] { return ActorPid(1) != 0; }));
  kill(ActorPid(1), SIGSTOP);
  Interrupt(*train);
}

}  // namespace
}  // namespace starling
