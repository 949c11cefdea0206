// A disk that is full, or fails: the run says so and ends, later, with a status that is not 0.
#include <stdio.h>

#include "core/config.h"
#include "tests/system/run_fixture.h"

namespace starling {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

class DiskTest : public RunTest {
 protected:
  // Room for a configuration and a log, not for a checkpoint of 31 KiB.
  static constexpr rlim_t kTight = 20 << 10;

  void MakeRunDir(Words settings) {
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

// Over tcp there is no shared memory, so that the checkpoint is the first file too large.
TEST_F(DiskTest, AFileSizeLimitThatKillsTheLearnerEndsTheRun) {
  auto train = Start(
      "starling",
      TrainWords({"run.steps=16000", "actors.count=1", "wire.endpoint=tcp://127.0.0.1:0"}), kTight);
  EXPECT_EQ(WaitFor(*train), 1) << said_;
  EXPECT_THAT(said_, ContainsRegex("the learner .*SIGXFSZ.*gave up|could not be written"));
  ExpectNothingLeft();
}

TEST_F(DiskTest, ALearnerWithoutRoomForACheckpointSaysSo) {
  MakeRunDir({"run.steps=16000", "actors.count=1", "wire.endpoint=tcp://127.0.0.1:0"});
  auto learner = Start("starling-learner", {"--run-dir", run().string()}, kTight);
  auto actor =
      Start("starling-actor", {"--run-dir", run().string(), "--runtime-dir", runtime().string()});
  EXPECT_EQ(WaitFor(*learner), 1);
  EXPECT_THAT(learner->err(), HasSubstr("no checkpoint of version 0"));
  EXPECT_THAT(learner->err(), HasSubstr("File too large"));
  EXPECT_THAT(learner->err(), HasSubstr("the last checkpoint could not be written"));
  EXPECT_EQ(WaitFor(*actor), 0) << said_;
  EXPECT_TRUE(Checkpoints().empty());
  ExpectNothingLeft();
}

TEST_F(DiskTest, AFullDiskUnderTheMetricsIsSaid) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  MakeRunDir({"run.steps=16000", "actors.count=1"});
  std::filesystem::create_symlink("/dev/full", run() / "metrics.jsonl");
  auto learner = Start("starling-learner", {"--run-dir", run().string()});
  auto actor =
      Start("starling-actor", {"--run-dir", run().string(), "--runtime-dir", runtime().string()});
  EXPECT_EQ(WaitFor(*learner), 0) << said_;
  EXPECT_THAT(learner->err(), HasSubstr("metrics.jsonl: a line could not be written"));
  EXPECT_EQ(WaitFor(*actor), 0) << said_;
}

}  // namespace
}  // namespace starling
