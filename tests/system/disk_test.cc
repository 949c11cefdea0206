// A full or failing disk: the run reports it and ends later with an exit status other than 0.
#include <stdio.h>
#include <sys/stat.h>

#include <regex>

#include "core/config/config.h"
#include "tests/support/own_disk.h"
#include "tests/support/slow_disk.h"
#include "tests/system/run_fixture.h"

namespace starling {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

class DiskTest : public RunTest {
 protected:
  // Room for a configuration and a log, not for a checkpoint of 31 KiB.
  static constexpr rlim_t kTight = 20 << 10;

  void MakeRunDir(Strings settings) {
    settings.push_back("wire.runtime_dir=" + runtime().string());
    std::filesystem::create_directory(run());
    std::ofstream(run() / "config.toml") << ToToml(LoadConfig(config_, settings));
  }
};

TEST_F(DiskTest, CheckpointsThatFailMidwayAreSaidAndTheRunFails) {
  auto train = StartTrain({"run.steps=400000", "actors.count=2", "checkpoint.every_steps=32000"});
  ASSERT_TRUE(AwaitActors(*train, 2));
  // From one moment to the next nothing can be written there: a file is where the directory was.
  const std::filesystem::path blocker = dir_ / "blocker";
  std::ofstream(blocker) << "in the way";
  ASSERT_EQ(renameat2(AT_FDCWD, blocker.c_str(), AT_FDCWD, (run() / "checkpoints").c_str(),
                      RENAME_EXCHANGE),
            0);
  EXPECT_EQ(WaitFor(*train), 1) << said_;
  EXPECT_THAT(said_, ContainsRegex("no checkpoint of version [0-9]+: .*checkpoints"));
  EXPECT_THAT(said_, HasSubstr("the last checkpoint could not be written"));
  const json summary = Summary();
  ExpectSound(summary);
  EXPECT_GE(summary["steps"], 400'000);  // the training itself went on
  ExpectNothingLeft();
}

// Somebody else fills the disk for a while.
TEST_F(DiskTest, AFullDiskCostsTheCheckpointsOfItsTime) {
  std::filesystem::create_directory(run());
  const OwnDisk disk(run());
  if (!disk.trouble().empty()) GTEST_SKIP() << "no disk of our own here: " << disk.trouble();
  auto train = StartTrain(
      {Steps(kEndless), "actors.count=2", "checkpoint.every_steps=32000", "run.metrics_s=0.2"});
  ASSERT_TRUE(AwaitCheckpoint(*train));
  ASSERT_TRUE(OutlivesAFullDisk(*train));
  const json summary = Interrupt(*train);
  ASSERT_TRUE(summary.is_object());
  ExpectFinalCheckpoint(summary);
  EXPECT_EQ(summary["learner"]["restarted"], 0);
  EXPECT_EQ(summary["actors"]["restarted"], 0);
  // A line may be torn, but not the next.
  const std::string metrics = TextOf(run() / "metrics.jsonl");
  EXPECT_EQ(json::parse(metrics.substr(metrics.rfind('\n', metrics.size() - 2)))["steps"],
            summary["steps"]);
}

// ... and no more: behind them nothing is lost again, not a bit.
TEST_F(DiskTest, AfterAFullDiskAKilledLearnerLosesNothing) {
  std::filesystem::create_directory(run());
  const OwnDisk disk(run());
  if (!disk.trouble().empty()) GTEST_SKIP() << "no disk of our own here: " << disk.trouble();
  auto train = StartTrain({Steps(kEndless), "actors.count=2", "staleness.bound=0",
                           "checkpoint.every_steps=1000000000", "run.metrics_s=0.2"});
  ASSERT_TRUE(AwaitActors(*train, 2));
  const std::filesystem::path filler = run() / "filler";
  ASSERT_TRUE(Eventually([&] {
    disk.Fill(filler);
    return train->err().find("the journal is not complete") != std::string::npos ||
           !train->Running();
  }));
  std::filesystem::remove(filler);
  // The next cut is due after ten seconds, though none is by configuration.
  ASSERT_TRUE(AwaitLog(*train, "the journal goes on: a replay can begin"));
  ASSERT_TRUE(Eventually([&] { return Checkpoints().size() > 1 || !train->Running(); }));
  ASSERT_EQ(kill(LearnerPid(), SIGKILL), 0);
  ASSERT_TRUE(AwaitActors(*train, 4));
  const json summary = Interrupt(*train);
  ASSERT_TRUE(summary.is_object());
  EXPECT_TRUE(LogHas(": nothing is lost")) << Log();
  EXPECT_EQ(summary["learner"]["restarted"], 1);
  EXPECT_EQ(summary["exact"], true);
}

// What the dead learner had applied is done again, and waits for room.
TEST_F(DiskTest, NoLearnerStartsWhileAFullDiskHoldsUpWhatTheLastHadApplied) {
  std::filesystem::create_directory(run());
  const OwnDisk disk(run());
  if (!disk.trouble().empty()) GTEST_SKIP() << "no disk of our own here: " << disk.trouble();
  auto train = StartTrain({Steps(kEndless), "actors.count=2", "checkpoint.every_steps=1000000000",
                           "run.metrics_s=0.2"});
  ASSERT_TRUE(AwaitActors(*train, 2));
  ASSERT_TRUE(Eventually([&] {
    return std::regex_search(TextOf(run() / "metrics.jsonl"), std::regex("\"steps\":[1-9]"));
  }));
  const pid_t learner = LearnerPid();
  ASSERT_EQ(kill(learner, SIGSTOP), 0);  // it must not find its journal without room
  const std::filesystem::path filler = run() / "filler";
  disk.Fill(filler);
  ASSERT_EQ(kill(learner, SIGKILL), 0);
  ASSERT_TRUE(Eventually([&] {
    return std::regex_search(train->err(),
                             std::regex("version [0-9,]+ is done again and cannot be written: .*No "
                                        "space left on device; no learner starts before")) ||
           !train->Running();
  }));
  EXPECT_EQ(LearnerPid(), 0);
  std::filesystem::remove(filler);
  ASSERT_TRUE(AwaitActors(*train, 4));
  const json summary = Interrupt(*train);
  ASSERT_TRUE(summary.is_object());
  EXPECT_EQ(summary["learner"]["restarted"], 1);
  EXPECT_TRUE(LogHas(": nothing is lost")) << Log();
}

// Over tcp there is no shared memory, so that the checkpoint is the first file too large; the
// journal of a thousand updates is the next.
TEST_F(DiskTest, AFileSizeLimitCostsCheckpointsAndJournalButKillsNobody) {
  auto train =
      Start("starling",
            TrainWords({"run.steps=160000", "actors.count=1", "wire.endpoint=tcp://127.0.0.1:0",
                        "checkpoint.every_steps=80000"}),
            kTight);
  EXPECT_EQ(WaitFor(*train), 1) << said_;
  EXPECT_THAT(said_, ContainsRegex("no checkpoint of version [1-9][0-9]*: .*File too large"));
  EXPECT_THAT(said_, HasSubstr("the last checkpoint could not be written"));
  EXPECT_EQ(CountInLog("the journal is not complete, a replay ends there"), 1u);
  EXPECT_THAT(said_, Not(HasSubstr("SIGXFSZ")));
  const json summary = Summary();
  ExpectSound(summary);
  EXPECT_GE(summary["steps"], 160'000);
  EXPECT_EQ(summary["learner"]["restarted"], 0);
  ExpectNothingLeft();
}

// Room for a checkpoint, not for three versions of the weights in shared memory.
TEST_F(DiskTest, WithoutSharedMemoryOnlyTheLastWeightsAreEvaluated) {
  auto train =
      Start("starling",
            TrainWords({"run.steps=16000", "actors.count=1", "wire.endpoint=tcp://127.0.0.1:0",
                        "eval.every_steps=160", "eval.episodes=2"}),
            40 << 10);
  ExpectDone(WaitFor(*train), 16'000);
  EXPECT_THAT(said_, HasSubstr("only those at the end are evaluated"));
  EXPECT_EQ(TextOf(run() / "eval.jsonl").find("{\"steps\":16000,"), 0u);
}

TEST_F(DiskTest, ALearnerWithoutRoomForACheckpointSaysSo) {
  MakeRunDir({"run.steps=16000", "actors.count=1", "wire.endpoint=tcp://127.0.0.1:0"});
  auto learner = Start("starling-learner", {"--run-dir", run().string()}, kTight);
  auto actor = StartActor();
  EXPECT_EQ(WaitFor(*learner), 1);
  EXPECT_THAT(learner->err(), HasSubstr("no checkpoint of version 0"));
  EXPECT_THAT(learner->err(), HasSubstr("File too large"));
  EXPECT_THAT(learner->err(), HasSubstr("the last checkpoint could not be written"));
  EXPECT_EQ(WaitFor(*actor), 0) << said_;
  EXPECT_TRUE(Checkpoints().empty());
  ExpectNothingLeft();
}

// Its actors have left by then; they were replaced after a second, for nothing.
TEST_F(DiskTest, ASlowLastCheckpointReplacesNobody) {
  auto train = StartTrain({Steps(kSeconds / 4), "actors.count=2", "checkpoint.keep=1"});
  ASSERT_TRUE(AwaitActors(*train, 2));
  ASSERT_TRUE(AwaitLog(*train, "wrote checkpoints/"));
  SlowDisk disk(run());
  ASSERT_TRUE(Eventually([&] { return CountInLog("ended with exit status 0") >= 2; }));
  // Time enough for a replacement to come.
  EXPECT_FALSE(
      Eventually([&] { return !Find("starling-actor").empty(); }, std::chrono::milliseconds(1500)));
  ASSERT_TRUE(Eventually([&] { return disk.TryEnd(); }));
  ExpectDone(WaitFor(*train), kSeconds / 4);
  EXPECT_EQ(Summary()["actors"]["restarted"], 0);
}

TEST_F(DiskTest, AFullDiskUnderTheMetricsIsSaid) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  MakeRunDir({"run.steps=16000", "actors.count=1"});
  std::filesystem::create_symlink("/dev/full", run() / "metrics.jsonl");
  auto learner = Start("starling-learner", {"--run-dir", run().string()});
  auto actor = StartActor();
  ExpectAllEnd(learner, actor);
  EXPECT_THAT(learner->err(), HasSubstr("metrics.jsonl: a line could not be written"));
}

}  // namespace
}  // namespace starling
