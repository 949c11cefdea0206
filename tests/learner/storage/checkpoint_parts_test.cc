#include "learner/storage/checkpoint_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <stdexcept>

#include "core/file.h"
#include "tests/learner/storage/checkpoint_fixture.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"
#include "wire/slices.h"

namespace starling::learner {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class CheckpointPartsTest : public testing::Test {
 protected:
  static constexpr std::int64_t kWide = 40;  // 3 x 40, 40 and 40 x 1: cuts are within parameters

  static Checkpoint PartOf(Checkpoint whole, ShardOf which) {
    const auto slice = wire::CutIntoSlices(whole.weights.size(), which.shards)[which.shard];
    TrainingState cut = CutOut(whole, slice);
    whole.weights = std::move(cut.weights);
    whole.optimizer_state = std::move(cut.optimizer_state);
    return whole;
  }
  std::filesystem::path Write(std::uint64_t version, std::size_t shards) {
    const Checkpoint whole = MakeCheckpoint(1, version, kWide);
    for (std::size_t shard = 0; shard < shards; ++shard) {
      WriteCheckpointPart(dir_.path(), PartOf(whole, {shard, shards}), {shard, shards});
    }
    return CommitCheckpointParts(dir_.path(), 1, version);
  }

  static std::string Refusal(const std::filesystem::path& path) {
    return ErrorOf<std::runtime_error>([&] { ReadCheckpoint(path); });
  }

  TempDir dir_;
};

TEST_F(CheckpointPartsTest, AllPartsTogetherAreTheCheckpoint) {
  for (const std::size_t shards : {2u, 3u, 8u}) {
    const std::uint64_t version = 900 + shards;
    ExpectEqual(ReadCheckpoint(Write(version, shards)), MakeCheckpoint(1, version, kWide));
  }
}

TEST_F(CheckpointPartsTest, AreFoundAndSortedAmongFiles) {
  const auto file = WriteCheckpoint(dir_.path(), MakeCheckpoint(1, 20));
  const auto older = Write(10, 2), newer = Write(30, 2);
  EXPECT_THAT(ListCheckpoints(dir_.path()), ElementsAre(older, file, newer));
  EXPECT_EQ(LastGood(dir_.path()).path, newer);
}

// A shard was killed before it had written its part.
TEST_F(CheckpointPartsTest, AreAbsentUntilAllAreWritten) {
  const auto before = Write(1, 2);
  WriteCheckpointPart(dir_.path(), PartOf(MakeCheckpoint(1, 2, kWide), {1, 2}), {1, 2});
  EXPECT_THAT(ListCheckpoints(dir_.path()), ElementsAre(before));
  EXPECT_EQ(LastGood(dir_.path()).path, before);
}

TEST_F(CheckpointPartsTest, ADamagedPartIsADamagedCheckpoint) {
  const auto before = Write(1, 3), damaged = Write(2, 3);
  const auto part = damaged / "shard-1-of-3.safetensors";
  std::string bytes = ReadFile(part);
  bytes[bytes.size() - 5] ^= 1;
  WriteFileAtomically(part, bytes);
  const LastGoodResult last = LastGood(dir_.path());
  EXPECT_EQ(last.path, before);
  EXPECT_THAT(last.rejected, ElementsAre(HasSubstr("shard-1-of-3.safetensors")));
}

TEST_F(CheckpointPartsTest, AMissingPartIsReported) {
  const auto path = Write(2, 3);
  std::filesystem::remove(path / "shard-2-of-3.safetensors");
  EXPECT_THAT(Refusal(path), HasSubstr("shard-2-of-3.safetensors"));
  std::filesystem::remove(path / "shard-0-of-3.safetensors");
  EXPECT_THAT(Refusal(path), HasSubstr("the part of shard 0 is missing"));
}

TEST_F(CheckpointPartsTest, APartOfAnotherCheckpointIsRefused) {
  const auto one = Write(1, 2), two = Write(2, 2);
  std::filesystem::copy_file(one / "shard-1-of-2.safetensors", two / "shard-1-of-2.safetensors",
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_THAT(Refusal(two), HasSubstr("another checkpoint than the part of shard 0"));
}

// Parts that are newer than every complete checkpoint stay: other shards may be writing the rest.
TEST_F(CheckpointPartsTest, PruneRemovesPartsThatWillNeverBeComplete) {
  const auto old = Write(1, 2);
  WriteCheckpointPart(dir_.path(), PartOf(MakeCheckpoint(1, 2, kWide), {1, 2}), {1, 2});
  const auto leftover = dir_ / "t0001-v000000000002.parts";
  const auto newest = Write(3, 2);
  WriteCheckpointPart(dir_.path(), PartOf(MakeCheckpoint(1, 4, kWide), {1, 2}), {1, 2});
  EXPECT_THAT(Prune(dir_.path(), 1), ElementsAre(leftover, old));
  EXPECT_THAT(ListCheckpoints(dir_.path()), ElementsAre(newest));
  EXPECT_TRUE(std::filesystem::exists(dir_ / "t0001-v000000000004.parts"));
  EXPECT_THAT(Prune(dir_.path(), 1), IsEmpty());
}

}  // namespace
}  // namespace starling::learner
