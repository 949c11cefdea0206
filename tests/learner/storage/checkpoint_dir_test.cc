// The directory of checkpoints: the last good one, pruning.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>

#include "core/file.h"
#include "learner/storage/checkpoint.h"
#include "tests/learner/storage/checkpoint_fixture.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"

namespace starling::learner {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

using LastGoodTest = TempDirTest;

TEST_F(LastGoodTest, IsEmptyWithoutCheckpoints) {
  EXPECT_FALSE(LastGood(dir_.path()).checkpoint);
  EXPECT_FALSE(LastGood(dir_ / "missing").checkpoint);
  EXPECT_THAT(ListCheckpoints(dir_ / "missing"), IsEmpty());
}

TEST_F(LastGoodTest, IsTheNewestByTermThenVersionAsNumbers) {
  for (const auto& [term, version] : {std::pair<std::uint32_t, std::uint64_t>{2, 900},
                                      {1, 1000},
                                      {10'000, 5},
                                      {2, 1'000'000'000'000'000}}) {
    WriteCheckpoint(dir_.path(), MakeCheckpoint(term, version));
  }
  dir_.Write("term", "10000\n");
  dir_.Write("t0003-v12.txt", "");
  std::vector<std::string> names;
  for (const auto& path : ListCheckpoints(dir_.path())) names.push_back(path.filename());
  EXPECT_THAT(names,
              ElementsAre(CheckpointName(1, 1000), CheckpointName(2, 900),
                          CheckpointName(2, 1'000'000'000'000'000), CheckpointName(10'000, 5)));
  EXPECT_EQ(LastGood(dir_.path()).checkpoint->term, 10'000u);
}

// The newest of three files holds `content`: expects that it is rejected and the one before used.
void ExpectFallsBack(const TempDir& dir, const std::filesystem::path& newest,
                     std::string_view content) {
  dir.Write(newest.filename().string(), content);
  const LastGoodResult result = LastGood(dir.path());
  ASSERT_TRUE(result.checkpoint);
  EXPECT_EQ(result.checkpoint->version, 20u);
  EXPECT_EQ(result.path.filename(), CheckpointName(1, 20));
  EXPECT_THAT(result.rejected, ElementsAre(HasSubstr(newest.string())));
}

std::filesystem::path WriteThree(const TempDir& dir) {
  std::filesystem::path newest;
  for (const std::uint64_t version : {10, 20, 30}) {
    newest = WriteCheckpoint(dir.path(), MakeCheckpoint(1, version, 1));
  }
  return newest;
}

TEST_F(LastGoodTest, SkipsANewestWithAFlippedBitInAnyByte) {
  const auto newest = WriteThree(dir_);
  const std::string bytes = ReadFile(newest);
  for (std::size_t byte = 0; byte < bytes.size(); ++byte) {
    std::string flipped = bytes;
    flipped[byte] = static_cast<char>(flipped[byte] ^ (1 << byte % 8));  // bits 0 to 7 in turn
    ExpectFallsBack(dir_, newest, flipped);
    ASSERT_FALSE(testing::Test::HasFailure()) << byte;
  }
}

TEST_F(LastGoodTest, NamesEveryDamagedOneNewestFirst) {
  WriteThree(dir_);
  for (const std::uint64_t version : {20, 30}) dir_.Write(CheckpointName(1, version), "damaged");
  EXPECT_THAT(LastGood(dir_.path()).rejected,
              ElementsAre(HasSubstr(CheckpointName(1, 30)), HasSubstr(CheckpointName(1, 20))));
  EXPECT_EQ(LastGood(dir_.path()).checkpoint->version, 10u);
  dir_.Write(CheckpointName(1, 10), "damaged");
  EXPECT_FALSE(LastGood(dir_.path()).checkpoint);
  EXPECT_EQ(LastGood(dir_.path()).rejected.size(), 3u);
}

using PruneTest = TempDirTest;

TEST_F(PruneTest, KeepsTheNewest) {
  for (std::uint64_t version = 0; version < 6; ++version) {
    WriteCheckpoint(dir_.path(), MakeCheckpoint(1, version));
  }
  dir_.Write("term", "1\n");
  EXPECT_EQ(Prune(dir_.path(), 2).size(), 4u);
  EXPECT_THAT(ListCheckpoints(dir_.path()),
              ElementsAre(dir_ / CheckpointName(1, 4), dir_ / CheckpointName(1, 5)));
  EXPECT_THAT(Prune(dir_.path(), 2), IsEmpty());
  EXPECT_THAT(Prune(dir_.path(), 9), IsEmpty());
  EXPECT_TRUE(std::filesystem::exists(dir_ / "term"));
}

TEST_F(PruneTest, NeverRemovesTheNewestGoodOne) {
  for (std::uint64_t version = 0; version < 5; ++version) {
    WriteCheckpoint(dir_.path(), MakeCheckpoint(1, version));
  }
  for (const std::uint64_t version : {2, 3, 4}) dir_.Write(CheckpointName(1, version), "damaged");
  Prune(dir_.path(), 1);
  EXPECT_THAT(ListCheckpoints(dir_.path()),
              ElementsAre(dir_ / CheckpointName(1, 1), dir_ / CheckpointName(1, 4)));
  EXPECT_EQ(LastGood(dir_.path()).checkpoint->version, 1u);
}

// The evaluator writes this file at any time.
TEST(BestCheckpoint, IsNeitherTheNewestNorPruned) {
  TempDir dir;
  const auto newest = WriteCheckpoint(dir.path(), MakeCheckpoint(1, 7));
  Checkpoint weights_only = MakeCheckpoint(9, 9);
  weights_only.slot_names.clear();
  weights_only.optimizer_state.clear();
  const auto best = WriteCheckpoint(dir.path(), kBestCheckpoint, weights_only);
  EXPECT_EQ(best, dir / "best.safetensors");
  const auto under_way = dir.Write("best.safetensors.123.0.tmp", "half");
  const auto left = dir.Write("t0001-v000000000006.safetensors.123.0.tmp", "half");
  EXPECT_THAT(Prune(dir.path(), 1), ElementsAre(left));
  EXPECT_TRUE(std::filesystem::exists(best) && std::filesystem::exists(under_way));
  EXPECT_EQ(LastGood(dir.path()).path, newest);
  const Checkpoint read = ReadCheckpoint(best);
  EXPECT_EQ(read.weights, weights_only.weights);
  EXPECT_THAT(read.optimizer_state, IsEmpty());
}

}  // namespace
}  // namespace starling::learner
