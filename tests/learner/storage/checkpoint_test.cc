#include "learner/storage/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/time.h>

#include <limits>
#include <map>
#include <string>

#include "core/file.h"
#include "core/safetensors.h"
#include "tests/learner/storage/checkpoint_fixture.h"
#include "tests/support/error_of.h"
#include "tests/support/in_child.h"
#include "tests/support/temp_dir.h"

namespace starling::learner {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using CheckpointTest = TempDirTest;

TEST_F(CheckpointTest, ReadsBackWhatWasWritten) {
  const Checkpoint checkpoint = MakeCheckpoint(1, 12345);
  const auto path = WriteCheckpoint(dir_ / "checkpoints", checkpoint);
  EXPECT_EQ(path, dir_ / "checkpoints" / "t0001-v000000012345.safetensors");
  ExpectEqual(ReadCheckpoint(path), checkpoint);
}

TEST_F(CheckpointTest, KeepsTheLargestNumbersAndEveryBitOfAWeight) {
  Checkpoint checkpoint = MakeCheckpoint(UINT32_MAX, UINT64_MAX);
  checkpoint.steps = checkpoint.optimizer_step = UINT64_MAX;
  checkpoint.journal = {UINT32_MAX, UINT32_MAX, UINT64_MAX};
  checkpoint.weights[0] = -0.0f;
  checkpoint.weights[1] = std::numeric_limits<float>::denorm_min();
  const Checkpoint got = ReadCheckpoint(WriteCheckpoint(dir_.path(), checkpoint));
  ExpectEqual(got, checkpoint);
  EXPECT_TRUE(std::signbit(got.weights[0]));
}

TEST_F(CheckpointTest, WithoutOptimizerStateHasNoSlots) {
  Checkpoint checkpoint = MakeCheckpoint(1, 1);
  checkpoint.slot_names.clear();
  checkpoint.optimizer_state.clear();
  ExpectEqual(ReadCheckpoint(WriteCheckpoint(dir_.path(), checkpoint)), checkpoint);
}

TEST_F(CheckpointTest, KeepsTwoSlotsApart) {
  Checkpoint checkpoint = MakeCheckpoint(1, 1);
  checkpoint.slot_names = {"exp_avg", "exp_avg_sq"};
  checkpoint.optimizer_state.push_back(checkpoint.weights);
  ASSERT_NE(checkpoint.optimizer_state[0], checkpoint.optimizer_state[1]);
  const auto path = WriteCheckpoint(dir_.path(), checkpoint);
  ExpectEqual(ReadCheckpoint(path), checkpoint);
  EXPECT_EQ(SafetensorsFile::Read(path).F32("optimizer.exp_avg_sq.fc1.bias"),
            SafetensorsFile::Read(path).F32("fc1.bias"));
}

TEST_F(CheckpointTest, HoldsOneTensorForEachParameterInItsShape) {
  const auto path = WriteCheckpoint(dir_.path(), MakeCheckpoint(1, 0));
  const SafetensorsFile file = SafetensorsFile::Read(path);
  EXPECT_THAT(
      file.names(),
      ElementsAre("fc1.weight", "fc1.bias", "value.weight", "optimizer.square_avg.fc1.weight",
                  "optimizer.square_avg.fc1.bias", "optimizer.square_avg.value.weight"));
  EXPECT_THAT(file.Shape("fc1.weight"), ElementsAre(3u, 5u));
  // fc1.bias starts at float 16, behind the gap.
  EXPECT_THAT(file.F32("fc1.bias"), ElementsAre(16.5f, 17.5f, 18.5f, 19.5f, 20.5f));
}

TEST_F(CheckpointTest, TheSameRunWritesTheSameBytes) {
  const auto first = WriteCheckpoint(dir_ / "a", MakeCheckpoint(2, 9));
  const auto second = WriteCheckpoint(dir_ / "b", MakeCheckpoint(2, 9));
  EXPECT_EQ(ReadFile(first), ReadFile(second));
}

TEST_F(CheckpointTest, AnotherSafetensorsFileIsRefusedWithASentence) {
  const std::vector<float> data(4, 1);
  const auto refusal = [&](std::vector<TensorView> tensors,
                           const std::map<std::string, std::string>& metadata) {
    WriteSafetensors(dir_ / "file.safetensors", tensors, metadata);
    return ErrorOf<std::runtime_error>([&] { ReadCheckpoint(dir_ / "file.safetensors"); });
  };
  EXPECT_THAT(refusal({ViewF32("w", {4}, data)}, {}), HasSubstr("it has no \"format\""));
  EXPECT_THAT(refusal({ViewF32("w", {4}, data)}, {{"format", "x"}}), HasSubstr("has the format"));
  std::map<std::string, std::string> metadata = {
      {"format", "starling.checkpoint.1"}, {"term", "1"}, {"version", "-2"}};
  EXPECT_THAT(refusal({ViewF32("w", {4}, data)}, metadata), HasSubstr("not a number"));
  metadata.insert({{"steps", "1"}, {"optimizer_step", "1"}, {"journal_offset", "0"}});
  metadata.insert({{"optimizer_slots", ""}, {"config", ""}, {"counters", ""}});
  metadata["version"] = "2";
  metadata["fingerprint"] = "00000000000000ff";
  EXPECT_THAT(refusal({ViewF32("w", {4}, data)}, metadata), HasSubstr("fingerprint"));
  EXPECT_THAT(refusal({ViewF32("w", {0, 4}, {})}, metadata), HasSubstr("dimension of 0"));
  metadata["term"] = "4294967296";
  EXPECT_THAT(refusal({ViewF32("w", {4}, data)}, metadata), HasSubstr("term"));
}

TEST_F(CheckpointTest, AWriterKilledInTheMiddleLeavesNoPartialFileUnderTheFinalName) {
  WriteCheckpoint(dir_.path(), MakeCheckpoint(1, 0));
  const Checkpoint big = MakeCheckpoint(1, 7, 20'000);  // half a megabyte
  for (int round = 0; round < 30; ++round) {
    const int status = StatusInChild([&] {
      // At another point of its work in each round.
      const itimerval end{.it_interval = {},
                          .it_value = {.tv_sec = 0, .tv_usec = 500 + 500 * round}};
      ::setitimer(ITIMER_REAL, &end, nullptr);
      for (std::uint32_t term = 2;; ++term) {
        Checkpoint next = big;
        next.term = 2 + (term % 4);
        WriteCheckpoint(dir_.path(), next);
      }
    });
    ASSERT_EQ(status, 128 + SIGALRM);
    for (const auto& path : ListCheckpoints(dir_.path())) {
      ASSERT_NO_THROW(ReadCheckpoint(path)) << path;
    }
  }
  // The next Prune removes the files of the killed writer.
  dir_.Write(CheckpointName(9, 9) + ".123.0.tmp", "half");
  Prune(dir_.path(), 1);
  EXPECT_EQ(dir_.CountFiles(), 1u);
}

}  // namespace
}  // namespace starling::learner
