// journal.keep: the oldest segments go, and never what a replay from the oldest kept cut reads.
#include "learner/storage/journal_prune.h"

#include <gmock/gmock.h>

#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "core/file.h"
#include "learner/storage/checkpoint_format.h"
#include "tests/learner/storage/checkpoint_fixture.h"
#include "tests/learner/storage/journal_fixture.h"

namespace starling::learner {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

class JournalPruneTest : public JournalTest {
 protected:
  // Six segments of one record each. positions_[i] is behind record i.
  JournalPruneTest() {
    JournalWriter writer(journal(), kHeader, {.segment_bytes = kHeaderBytes + 1});
    for (std::uint32_t i = 0; i < 6; ++i) {
      writer.Append(DeathRecord{.slot = i});
      positions_.push_back(writer.position());
      writer.Flush();  // begins the next segment
    }
  }
  std::vector<std::uint32_t> Left() const {
    std::vector<std::uint32_t> numbers;
    for (const Segment& segment : ListSegments(journal())) numbers.push_back(segment.segment);
    return numbers;
  }
  std::uint64_t Bytes() const {
    std::uint64_t bytes = 0;
    for (const Segment& segment : ListSegments(journal())) {
      bytes += std::filesystem::file_size(segment.path);
    }
    return bytes;
  }
  std::filesystem::path checkpoints() const { return dir_ / "checkpoints"; }
  // A checkpoint of `version` at positions_[version].
  std::filesystem::path Save(std::uint32_t version, bool cut) {
    Checkpoint checkpoint = MakeCheckpoint(1, version);
    checkpoint.journal = positions_[version];
    if (cut) checkpoint.actors.emplace();
    return WriteCheckpoint(checkpoints(), checkpoint);
  }
  JournalPosition Oldest() const { return OldestCut(ListCheckpoints(checkpoints())); }

  std::vector<JournalPosition> positions_;
};

TEST_F(JournalPruneTest, OnlyWhatLiesBeforeTheOldestCutGoes) {
  const std::uint64_t before = Bytes();
  const JournalPruned pruned = PruneJournal(journal(), positions_[3], 0);
  EXPECT_THAT(Left(), ElementsAre(3, 4, 5, 6));  // 6 is that of the writer
  EXPECT_EQ(pruned.segments, 3u);
  EXPECT_EQ(pruned.left, Bytes());
  EXPECT_EQ(pruned.removed, before - Bytes());
  // A replay from there reads what it read before.
  EXPECT_THAT(ReadAll(JournalReader(journal(), positions_[3])),
              ElementsAre(DeathRecord{.slot = 4}, DeathRecord{.slot = 5}));
}

TEST_F(JournalPruneTest, TheOldestGoUntilTheRestFits) {
  const std::uint64_t one = std::filesystem::file_size(ListSegments(journal()).front().path);
  const std::uint64_t all = Bytes();
  EXPECT_EQ(PruneJournal(journal(), positions_[5], all).segments, 0u);
  EXPECT_EQ(PruneJournal(journal(), positions_[5], all - 1).segments, 1u);
  EXPECT_EQ(PruneJournal(journal(), positions_[5], all - 3 * one).segments, 2u);
  EXPECT_THAT(Left(), ElementsAre(3, 4, 5, 6));
}

TEST_F(JournalPruneTest, ADryRunRemovesNothing) {
  const JournalPruned would = PruneJournal(journal(), positions_[4], 0, /*dry_run=*/true);
  EXPECT_THAT(Left(), SizeIs(7));
  const JournalPruned did = PruneJournal(journal(), positions_[4], 0);
  EXPECT_EQ(would.segments, did.segments);
  EXPECT_EQ(would.removed, did.removed);
  EXPECT_EQ(would.left, did.left);
}

TEST_F(JournalPruneTest, WithoutACheckpointNothingGoes) {
  EXPECT_EQ(PruneJournal(journal(), Oldest(), 0).segments, 0u);
  EXPECT_THAT(Left(), SizeIs(7));
}

// Of an earlier term, and passed over by a later one.
TEST_F(JournalPruneTest, WhatIsNoPartOfTheRunGoesWithItsAge) {
  JournalHeader later = kHeader;
  later.term = 2;
  later.after = positions_[1];
  JournalWriter second(journal(), later);
  second.Append(DeathRecord{.slot = 9});
  const JournalPosition cut = second.position();
  second.Flush();
  EXPECT_EQ(PruneJournal(journal(), cut, 0).segments, 7u);
  EXPECT_THAT(ReadAll(JournalReader(journal(), cut)), IsEmpty());
}

TEST_F(JournalPruneTest, TheOldestCutDecidesElseTheOldestCheckpoint) {
  const auto first = Save(1, false);
  EXPECT_EQ(Oldest(), positions_[1]);
  const auto cut = Save(2, true);
  Save(3, false), Save(4, true);
  EXPECT_EQ(Oldest(), positions_[2]);
  std::string bytes = ReadFile(cut);
  bytes.back() ^= 1;  // its header is whole
  WriteFileAtomically(cut, bytes);
  EXPECT_EQ(Oldest(), positions_[4]) << "nothing can begin at a damaged one";
  std::filesystem::remove_all(checkpoints());
  EXPECT_EQ(Oldest(), JournalPosition{});
}

TEST_F(JournalPruneTest, OfACheckpointInPartsTheFirstIsRead) {
  Checkpoint part = MakeCheckpoint(1, 7, 64);
  const auto slices = wire::CutIntoSlices(part.layout.size(), 2);
  part.journal = positions_[3];
  const TrainingState whole = part;
  for (const std::size_t shard : {1, 0}) {
    static_cast<TrainingState&>(part) = CutOut(whole, slices[shard]);
    WriteCheckpointPart(checkpoints(), part, {shard, 2});
  }
  CommitCheckpointParts(checkpoints(), 1, 7);
  EXPECT_EQ(Oldest(), positions_[3]);
}

TEST_F(JournalPruneTest, TheWriterOfCheckpointsPrunesBehindEach) {
  CheckpointWriter writer(checkpoints(), {.checkpoints = 1, .journal_bytes = 0});
  std::filesystem::create_directory(checkpoints());
  for (const std::uint32_t version : {2, 4}) {
    auto checkpoint = MakeCheckpoint(1, version);
    checkpoint.journal = positions_[version];
    ASSERT_TRUE(writer.Submit({std::make_shared<Checkpoint>(std::move(checkpoint))}));
    std::optional<CheckpointWriter::Result> result;
    while (!(result = writer.Poll())) std::this_thread::yield();
    EXPECT_EQ(result->error, "");
    EXPECT_EQ(result->journal.segments, 2u);
    EXPECT_EQ(Left().front(), version);
  }
}

}  // namespace
}  // namespace starling::learner
