// The writer's thread.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>

#include "learner/storage/checkpoint.h"
#include "learner/storage/terms.h"
#include "tests/learner/storage/checkpoint_fixture.h"
#include "tests/support/in_child.h"
#include "tests/support/temp_dir.h"

namespace starling::learner {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using CheckpointWriterTest = TempDirTest;

CheckpointWriter::Job JobOf(std::uint32_t term, std::uint64_t version, std::int64_t width = 5) {
  return {.checkpoint = std::make_shared<Checkpoint>(MakeCheckpoint(term, version, width))};
}

TEST_F(CheckpointWriterTest, WritesInOrderAndPrunes) {
  std::atomic<int> called{0};
  CheckpointWriter writer(dir_.path(), {2}, [&] {
    ++called;
    called.notify_one();
  });
  for (int version = 0; version < 5; ++version) {
    ASSERT_TRUE(writer.Submit(JobOf(1, static_cast<std::uint64_t>(version))));
    called.wait(version);
    const auto result = writer.Poll();
    ASSERT_TRUE(result);
    EXPECT_EQ(result->error, "");
    EXPECT_EQ(result->version, static_cast<std::uint64_t>(version));
    EXPECT_EQ(result->path, dir_ / CheckpointName(1, result->version));
    EXPECT_FALSE(writer.Poll());
    EXPECT_EQ(writer.pending(), 0u);
  }
  EXPECT_THAT(ListCheckpoints(dir_.path()),
              ElementsAre(dir_ / CheckpointName(1, 3), dir_ / CheckpointName(1, 4)));
}

TEST_F(CheckpointWriterTest, FinishWritesEverythingSubmitted) {
  for (int round = 0; round < 20; ++round) {
    TempDir dir;
    CheckpointWriter writer(dir.path(), {9});
    std::size_t taken = 0;
    for (std::uint64_t version = 0; version < 4; ++version) {
      taken += writer.Submit(JobOf(1, version));
    }
    EXPECT_GE(taken, 1u);
    writer.Finish();
    EXPECT_EQ(ListCheckpoints(dir.path()).size(), taken);
    EXPECT_EQ(writer.pending(), 0u);
    EXPECT_FALSE(writer.Submit(JobOf(1, 9)));
    while (writer.Poll()) --taken;
    EXPECT_EQ(taken, 0u);
  }
}

// The network thread must not wait: with one being written and one waiting, the next is refused.
TEST_F(CheckpointWriterTest, RefusesAThirdWhileItIsBusy) {
  std::atomic<bool> entered{false}, go_on{false};
  CheckpointWriter writer(dir_.path(), {9}, [&] {
    entered = true;
    entered.notify_one();
    go_on.wait(false);
  });
  ASSERT_TRUE(writer.Submit(JobOf(1, 1)));
  entered.wait(false);  // the writer's thread waits in on_result
  EXPECT_TRUE(writer.Submit(JobOf(1, 2)));
  EXPECT_FALSE(writer.Submit(JobOf(1, 3)));
  EXPECT_EQ(writer.pending(), 1u);
  go_on = true;
  go_on.notify_one();
  writer.Finish();
  EXPECT_EQ(ListCheckpoints(dir_.path()).size(), 2u);
}

// A disk that becomes full during a write, simulated by the file size limit.
TEST_F(CheckpointWriterTest, AFailedWriteIsReportedAndTheOldCheckpointsStay) {
  WriteCheckpoint(dir_.path(), MakeCheckpoint(1, 1));
  CheckpointWriter writer(dir_.path(), {1});
  {
    const FileSizeLimit limit(4096);
    writer.Submit(JobOf(1, 2, 1000));
    writer.Finish();
  }
  const auto result = writer.Poll();
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->path.empty());
  EXPECT_THAT(result->error, HasSubstr(CheckpointName(1, 2)));
  EXPECT_EQ(result->version, 2u);
  EXPECT_EQ(LastGood(dir_.path()).checkpoint->version, 1u);
  EXPECT_EQ(dir_.CountFiles(), 1u);
}

TEST_F(CheckpointWriterTest, WritesNothingOnceALaterLearnerHasTheRun) {
  const std::uint32_t first = ClaimTerm(dir_.path(), std::nullopt);
  CheckpointWriter writer(dir_.path(), {9});
  ASSERT_TRUE(writer.Submit(JobOf(first, 1)));
  while (!writer.Poll()) std::this_thread::yield();
  EXPECT_EQ(ClaimTerm(dir_.path(), CheckpointId{first, 1}), 2u);
  ASSERT_TRUE(writer.Submit(JobOf(first, 2)));
  writer.Finish();
  const auto result = writer.Poll();
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->fenced_off);
  EXPECT_THAT(result->error, HasSubstr("another learner has taken over the run as term 2"));
  EXPECT_FALSE(std::filesystem::exists(dir_ / CheckpointName(first, 2)));
}

TEST_F(CheckpointWriterTest, ARunDirectoryThatWasMovedAwayIsNotMadeAgain) {
  std::filesystem::create_directory(dir_ / "run");
  CheckpointWriter writer(dir_ / "run", {9});
  std::filesystem::rename(dir_ / "run", dir_ / "moved");
  ASSERT_TRUE(writer.Submit(JobOf(1, 1)));
  writer.Finish();
  EXPECT_THAT(writer.Poll()->error, HasSubstr("was the run's directory moved or deleted"));
  EXPECT_FALSE(std::filesystem::exists(dir_ / "run"));
}

}  // namespace
}  // namespace starling::learner
