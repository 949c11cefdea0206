// `starling sweep` where runs fail: each by itself, with its reason, and nothing is lost.
#include <sys/file.h>

#include "tests/tools/sweep/sweep_fixture.h"

namespace starling::sweep {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST_F(SweepTest, AFailedRunIsNamedStopsNobodyAndIsTriedAgain) {
  dir_.Write("script.learner", "say this game needs a licence; touch over; exit 2");
  const std::string failed = LogOf(kExitFailed);
  for (const char* who : {"bound=0 seed 1", "bound=4 seed 1", "bound=0 seed 2", "bound=4 seed 2"}) {
    EXPECT_THAT(failed, HasSubstr(std::string(who) + " failed: this game needs a licence\n"));
  }
  EXPECT_THAT(failed, HasSubstr("0 of 4 runs are done; go on with: "));
  EXPECT_EQ(SweepJson()["points"][0]["runs"][0]["error"], "this game needs a licence");

  dir_.Write("script.learner", kTrains);
  EXPECT_THAT(LogOf(kExitDone),
              HasSubstr("sweeps/bounds/bound=0/seed-1: there is nothing to resume from; it starts "
                        "again from the beginning, and its old files are in "
                        "sweeps/bounds/old/bound=0/seed-1\n"));
  EXPECT_THAT(dir_.Read("sweeps/bounds/old/bound=0/seed-1/log"), HasSubstr("needs a licence"));
}

TEST_F(SweepTest, WhyALearnerWasGivenUpIsTold) {
  WriteOneRun(/*eval_episodes=*/0);
  dir_.Write("script.learner", "say 12:00:00.000 error learner: the disk is full; kill 6");
  const std::string failed = LogOf(kExitFailed);
  const std::string why =
      "was killed by SIGABRT, 5 times in a row without an applied update: the disk is full";
  EXPECT_THAT(failed, HasSubstr(why));
  EXPECT_THAT(dir_.Read("sweeps/bounds/bound=4/seed-1/summary.json"), HasSubstr(why));
}

// A line is cut beyond a limit, maybe in the middle of a character.
TEST_F(SweepTest, WhateverAFailedRunSaidTheOthersAreTried) {
  dir_.Write("script.learner", "say " + std::string(6000, '\xe9') + "; touch over; exit 2");
  LogOf(kExitFailed);
  const auto sweep = SweepJson();
  ASSERT_TRUE(sweep.is_object());
  for (const auto& point : sweep["points"]) {
    for (const auto& run : point["runs"]) EXPECT_EQ(run["state"], "failed");
  }
}

// While the sweep was busy with the first run, somebody began the second by hand.
TEST_F(SweepTest, ARunThatSomebodyElseHasBegunMeanwhileIsLeftAlone) {
  WriteGrid("[1]", 0, "[grid]\nstaleness.bound = [0, 4]\n");
  dir_.Write(
      "script.learner",
      std::string("mkdir ../../bound=4/seed-1; touch ../../bound=4/seed-1/thesis.tex; ") + kTrains);
  EXPECT_THAT(LogOf(kExitFailed),
              HasSubstr("bound=4 seed 1 failed: sweeps/bounds/bound=4/seed-1 is in the "
                        "way: it is no run"));
  EXPECT_TRUE(std::filesystem::exists(dir_ / "sweeps/bounds/bound=4/seed-1/thesis.tex"));
}

TEST_F(SweepTest, ARunThatIsTrainedElsewhereIsNotTouched) {
  dir_.Write("script.learner", "touch over; exit 2");
  EXPECT_EQ(Sweep().status, kExitFailed);  // nothing in any of them to go on from
  dir_.Write("script.learner", kTrains);
  const int log = ::open((dir_ / "sweeps/bounds/bound=4/seed-1/log").c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(::flock(log, LOCK_EX | LOCK_NB), 0);
  const Finished sweep = Sweep();
  ::close(log);
  EXPECT_EQ(sweep.status, kExitFailed);
  EXPECT_THAT(sweep.err, AllOf(HasSubstr("bound=4 seed 1 failed: another starling train is running "
                                         "in sweeps/bounds/bound=4/seed-1; wait for its end"),
                               HasSubstr("3 of 4 runs are done")));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "sweeps/bounds/old/bound=4/seed-1"));
}

TEST_F(SweepTest, ASweepJsonThatCannotBeWrittenIsAFailureThatStopsNobody) {
  std::filesystem::create_directories(dir_ / "sweeps/bounds/sweep.json/in the way");
  EXPECT_THAT(LogOf(kExitFailed),
              AllOf(HasSubstr("sweep.json: Is a directory"), HasSubstr("4/4  ")));
}

TEST_F(SweepTest, WithoutItsProgramARunFails) {
  WriteGrid("[1, 2]", 0);
  dir_.Write("script.learner", std::string("remove ../../../../bin/starling; ") + kTrains);
  EXPECT_THAT(LogOf(kExitFailed),
              AllOf(HasSubstr("1/2  base seed 1: return 1.50"),
                    HasSubstr("base seed 2 failed: could not be started (No such file or "
                              "directory)")));
}

TEST_F(SweepTest, ARunThatSomeoneElseInterruptsHasFailed) {
  dir_.Write("script.learner", "interrupt; hold; touch over; exit 0");
  EXPECT_THAT(LogOf(kExitFailed), HasSubstr("failed: it was interrupted, and not by us"));
}

TEST_F(SweepTest, AnEvaluatedRunWhoseWeightsAreGoneIsNotTrainedAgain) {
  WriteOneRun(/*eval_episodes=*/3);
  WriteTrained("[128]");
  EXPECT_EQ(Sweep().status, kExitDone);
  std::filesystem::remove_all(dir_ / "sweeps/bounds/bound=4/seed-1/checkpoints");
  EXPECT_EQ(Sweep().status, kExitDone);
  WriteOneRun(/*eval_episodes=*/5);
  EXPECT_THAT(LogOf(kExitFailed),
              HasSubstr("bound=4 seed 1 failed: it was evaluated with 3 episodes, and "
                        "its weights are gone or damaged: set eval_episodes = 3 and "
                        "eval_greedy = false, or move"));
  EXPECT_TRUE(std::filesystem::exists(dir_ / "sweeps/bounds/bound=4/seed-1/final_eval.json"));
}

TEST_F(SweepTest, AnEvaluationThatFailsIsTheRunsFailure) {
  WriteOneRun(/*eval_episodes=*/3);
  WriteTrained("[3]");
  EXPECT_THAT(LogOf(kExitFailed),
              AllOf(HasSubstr("bound=4 seed 1 failed: evaluation: "), HasSubstr("another net")));
}

TEST_F(SweepTest, WithoutGoodWeightsThereIsNothingToEvaluate) {
  WriteOneRun(/*eval_episodes=*/3);
  // its checkpoint is an empty file
  EXPECT_THAT(LogOf(kExitFailed),
              HasSubstr("bound=4 seed 1 failed: it ended well, but is not complete"));
}

TEST_F(SweepTest, ARunThatCannotBeReadFailsAlone) {
  EXPECT_EQ(Sweep().status, kExitDone);
  std::filesystem::remove(dir_ / "sweeps/bounds/bound=4/seed-1/summary.json");
  std::filesystem::remove_all(dir_ / "sweeps/bounds/bound=4/seed-1/checkpoints");
  std::filesystem::create_symlink("checkpoints", dir_ / "sweeps/bounds/bound=4/seed-1/checkpoints");
  EXPECT_THAT(LogOf(kExitFailed),
              AllOf(HasSubstr("; 3 done already"), HasSubstr("bound=4 seed 1 failed: "),
                    HasSubstr("Too many levels of symbolic links")));
}

}  // namespace
}  // namespace starling::sweep
