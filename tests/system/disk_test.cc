// A disk that is full, or fails: the run says so and ends, later, with a status that is not 0.
#include "core/config.h"
#include "tests/system/run_fixture.h"

namespace starling {
namespace {

using testing::ContainsRegex;
using testing::HasSubstr;

class DiskTest : public RunTest {
 protected:
  void MakeRunDir(Words settings) {
    settings.push_back("wire.runtime_dir=" + runtime().string());
    std::filesystem::create_directory(run());
    std::ofstream(run() / "config.toml") << ToToml(LoadConfig(config_, settings));
  }
};

TEST_F(DiskTest, CheckpointsThatFailMidwayAreSaidAndTheRunFails) {
  auto train = StartTrain({"run.steps=240000", "actors.count=2", "checkpoint.every_steps=16000"});
  ASSERT_TRUE(AwaitCheckpoint(*train));
  // From now on nothing can be written there.
  std::filesystem::rename(run() / "checkpoints", run() / "moved");
  std::ofstream(run() / "checkpoints") << "in the way";
  EXPECT_EQ(WaitFor(*train), 1) << said_;
  EXPECT_THAT(said_, ContainsRegex("no checkpoint of version [0-9]+: .*checkpoints"));
  EXPECT_THAT(said_, HasSubstr("the last checkpoint could not be written"));
  const json summary = Summary();
  ExpectSound(summary);
  EXPECT_GE(summary["steps"], 240'000);  // the training itself went on
  ExpectNothingLeft();
}

TEST_F(DiskTest, FilesLimitedInSizeEndTheRunWithAStatusThatIsNotZero) {
  // Room for the log and the configuration, not for a checkpoint of 31 KiB.
  auto train = Start("starling", TrainWords({"run.steps=16000", "actors.count=2"}), 16 << 10);
  EXPECT_THAT(WaitFor(*train), testing::AnyOf(1, 2)) << said_;
  EXPECT_THAT(said_, HasSubstr("checkpoint"));
  ExpectNothingLeft();
}

TEST_F(DiskTest, ALearnerWithoutRoomForACheckpointSaysSo) {
  MakeRunDir({"run.steps=16000", "actors.count=1"});
  auto learner = Start("starling-learner", {"--run-dir", run().string()}, 16 << 10);
  auto actor =
      Start("starling-actor", {"--run-dir", run().string(), "--runtime-dir", runtime().string()});
  EXPECT_EQ(WaitFor(*learner), 1);
  EXPECT_THAT(learner->err(), HasSubstr("no checkpoint of version 0"));
  EXPECT_THAT(learner->err(), HasSubstr("File too large"));
  EXPECT_EQ(WaitFor(*actor), 0) << said_;
  EXPECT_TRUE(Checkpoints().empty());
  ExpectNothingLeft();
}

TEST_F(DiskTest, AFullDiskUnderTheJournalAndTheMetricsIsSaid) {
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
