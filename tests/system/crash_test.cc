// kill -9 at any process of a run, at any moment: the run continues and logs its losses.
#include <fstream>
#include <random>
#include <set>

#include "tests/system/run_fixture.h"
#include "wire/runtime_dir.h"

namespace starling {
namespace {

using testing::AnyOf;
using testing::ContainsRegex;
using testing::HasSubstr;

class CrashTest : public RunTest {
 protected:
  std::unique_ptr<Process> StartThree(std::uint64_t steps, const Strings& settings = {}) {
    return StartTrain(
        Plus(settings, {Steps(steps), "checkpoint.every_steps=32000", "actors.count=3"}));
  }
};

TEST_F(CrashTest, KilledActorsAreReplaced) {
  auto train = StartThree(kSeconds / 2);
  ASSERT_TRUE(AwaitActors(*train, 3));
  std::mt19937 random(testing::UnitTest::GetInstance()->random_seed() + 7);
  std::set<pid_t> killed;
  while (killed.size() < 8 && train->Running()) {
    const auto actors = Find("starling-actor");
    if (!actors.empty()) {
      const pid_t pid = actors[random() % actors.size()].pid;
      if (kill(pid, SIGKILL) == 0) killed.insert(pid);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(random() % 20));  // any moment
  }
  ExpectDone(WaitFor(*train), kSeconds / 2);

  // One that had left by itself, or died as the run ended, needs no replacement.
  const std::string log = Log();
  std::uint64_t replaced = 0;
  for (const pid_t pid : killed) {
    const std::string who = "(pid " + std::to_string(pid) + ") ";
    EXPECT_THAT(log, AnyOf(HasSubstr(who + "was killed by SIGKILL"),
                           HasSubstr(who + "ended with exit status 0")));
    if (LogHas(who + "was killed by SIGKILL; replaced")) ++replaced;
  }
  EXPECT_GE(replaced, 1u);
  EXPECT_THAT(log, HasSubstr("at most its gradients in flight are lost"));
  const json summary = Summary();
  EXPECT_LE(summary["actors"]["restarted"], killed.size());
  EXPECT_GE(summary["actors"]["restarted"].get<std::uint64_t>() + 1, replaced);  // as the run ended
  EXPECT_EQ(summary["actors"]["started"], 3);
  EXPECT_EQ(summary["learner"]["restarted"], 0);
}

TEST_F(CrashTest, AKilledActorIsReplacedInItsSlotUnderBoundZero) {
  auto train = StartThree(kSeconds / 4, {"staleness.bound=0"});
  ASSERT_TRUE(AwaitActors(*train, 3));
  const pid_t before = ActorPid(1);
  ASSERT_GT(before, 0);
  kill(before, SIGKILL);
  EXPECT_TRUE(Eventually([&] {
    const pid_t now = ActorPid(1);
    return (now != 0 && now != before) || !train->Running();
  }));
  ExpectDone(WaitFor(*train), kSeconds / 4);
  EXPECT_THAT(Log(),
              HasSubstr("actor 1 (pid " + std::to_string(before) + ") was killed by SIGKILL"));
  EXPECT_EQ(Summary()["actors"]["restarted"], 1);
}

TEST_F(CrashTest, AKilledLearnerGoesOnFromItsLastCheckpoint) {
  auto train = StartThree(kSeconds);
  ASSERT_TRUE(AwaitCheckpoint(*train));
  const pid_t learner = LearnerPid();
  ASSERT_GT(learner, 0);
  ASSERT_EQ(kill(learner, SIGKILL), 0);
  ExpectDone(WaitFor(*train), kSeconds);

  const json summary = Summary();
  EXPECT_EQ(summary["learner"]["restarted"], 1);
  EXPECT_EQ(summary["actors"]["restarted"], 0);  // they wait for it and join again
  const std::string log = Log();
  EXPECT_THAT(log,
              HasSubstr("the learner (pid " + std::to_string(learner) + ") was killed by SIGKILL"));
  EXPECT_THAT(log, ContainsRegex("; started again .* from .*checkpoint"));
  EXPECT_THAT(log, ContainsRegex("resuming from .*checkpoints/t0001-v0*[1-9][0-9]*.safetensors "
                                 ".*; nothing is lost"));
  EXPECT_THAT(Checkpoints().back(), HasSubstr("t0002-"));
}

// A supervisor that started it again would take the run back, and so on.
TEST_F(CrashTest, ALearnerWhoseRunAnotherHasTakenOverIsNotStartedAgain) {
  auto train = StartThree(kEndless);
  ASSERT_TRUE(AwaitCheckpoint(*train));
  std::ofstream(run() / "checkpoints/t0009.term") << "t0001-v000000000000\n";
  EXPECT_EQ(WaitFor(*train), 1) << said_;
  EXPECT_THAT(said_, HasSubstr("another learner has taken over the run as term 9"));
  EXPECT_EQ(Summary()["learner"]["restarted"], 0);
  ExpectNothingLeft();
}

TEST_F(CrashTest, ALearnerKilledAtItsVeryStartIsStartedAgain) {
  auto train = StartTrain({Steps(kSeconds / 8), "actors.count=2"});
  ASSERT_TRUE(Eventually([&] { return KillLearner(); }));
  ExpectDone(WaitFor(*train), kSeconds / 8);
  EXPECT_EQ(Summary()["learner"]["restarted"], 1);
}

TEST_F(CrashTest, LearnerAndActorsKilledTogether) {
  auto train = StartThree(kSeconds);
  ASSERT_TRUE(AwaitCheckpoint(*train));
  const pid_t learner = LearnerPid();
  const auto actors = Find("starling-actor");
  for (const Running& actor : actors) kill(actor.pid, SIGKILL);
  ASSERT_EQ(kill(learner, SIGKILL), 0);
  ExpectDone(WaitFor(*train), kSeconds);
  EXPECT_EQ(Summary()["learner"]["restarted"], 1);
  EXPECT_EQ(Summary()["actors"]["restarted"], actors.size());
}

TEST_F(CrashTest, WhoeverIsKilledOverTcp) {
  auto train = StartThree(kSeconds, {"wire.endpoint=tcp://127.0.0.1:0", "wire.timeout_s=2"});
  ASSERT_TRUE(AwaitCheckpoint(*train));
  ASSERT_TRUE(KillLearner());
  ASSERT_TRUE(AwaitLog(*train, "resuming from"));
  if (const pid_t actor = ActorPid(0)) kill(actor, SIGKILL);
  ExpectDone(WaitFor(*train), kSeconds);
  EXPECT_EQ(Summary()["learner"]["restarted"], 1);
}

TEST_F(CrashTest, ChildrenOfAKilledSupervisorGoByThemselvesAndTheRunCanGoOn) {
  auto train = StartThree(kEndless);
  ASSERT_TRUE(AwaitCheckpoint(*train));
  train->Signal(SIGKILL);
  EXPECT_EQ(train->Wait(), 128 + SIGKILL);
  EXPECT_TRUE(Eventually([&] { return ProcessesNaming(dir_.path().string()).empty(); }));
  // The learner has ended orderly. The killed supervisor's directory is left, which the next start
  // removes.
  EXPECT_EQ(wire::RuntimeDir::RemoveStale(wire::RuntimeRoot(runtime().string())), 1u);
  ExpectRuntimeEmpty();

  // "-v000000001234.safetensors": every version is one gradient here.
  const std::string newest = Checkpoints().back();
  const std::uint64_t more = std::stoull(newest.substr(newest.find("-v") + 2)) * kSamples + 16'000;
  auto resumed = Start("starling", ResumeWords({Steps(more)}));
  ExpectDone(WaitFor(*resumed), more);
}

// As a container or a job that is started again, with --continue from the beginning.
TEST_F(CrashTest, TheSameCommandBeginsGoesOnAndFindsTheRunComplete) {
  const auto again = [&](std::uint64_t steps) {
    return Start("starling", Plus(TrainWords({Steps(steps), "checkpoint.every_steps=16000",
                                              "actors.count=2"}),
                                  {"--continue"}));
  };
  const auto first = again(kEndless);
  ASSERT_TRUE(AwaitCheckpoint(*first));
  first->Signal(SIGKILL);
  first->Wait();
  ASSERT_TRUE(Eventually([&] { return ProcessesNaming(dir_.path().string()).empty(); }));
  const std::string newest = Checkpoints().back();
  const std::uint64_t more = std::stoull(newest.substr(newest.find("-v") + 2)) * kSamples + 16'000;

  EXPECT_EQ(WaitFor(*again(more)), 0);
  EXPECT_THAT(said_, HasSubstr("going on with catch in " + run().string()));
  EXPECT_TRUE(LogHas("resuming from ")) << "after " << newest;
  EXPECT_GE(Summary()["steps"], more);
  EXPECT_EQ(WaitFor(*again(more)), 0);
  EXPECT_THAT(said_, HasSubstr(run().string() + " is complete"));
  ExpectNothingLeft();
}

TEST_F(CrashTest, WhatAKilledRunLeftIsRemovedByTheNextStart) {
  auto train = StartThree(kEndless);
  ASSERT_TRUE(AwaitCheckpoint(*train));
  train->Signal(SIGSTOP);  // so that it cannot clean up behind the learner
  ASSERT_TRUE(KillLearner());
  train->Signal(SIGKILL);
  train->Wait();
  ASSERT_TRUE(Eventually([&] { return ProcessesNaming(dir_.path().string()).empty(); }));
  const auto places = std::distance(std::filesystem::recursive_directory_iterator(runtime()), {});
  ASSERT_GT(places, 2) << "nothing was left: this test tests nothing";

  const Strings words = TrainWords({"run.steps=160", "actors.count=1"}, "next");
  EXPECT_EQ(WaitFor(*Start("starling", words)), 0) << said_;
  ExpectNothingLeft();
  EXPECT_THAT(TextOf(dir_ / "next/log"),
              HasSubstr("removed what processes that were killed left in "));
}

}  // namespace
}  // namespace starling
