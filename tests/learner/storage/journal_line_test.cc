// The line of a run through its journal: segments follow each other, a term goes on where its
// checkpoint was, what an earlier learner wrote behind that does not count, and a disk fills up.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fstream>
#include <string>

#include "core/file.h"
#include "tests/learner/storage/journal_fixture.h"
#include "tests/support/error_of.h"
#include "tests/support/in_child.h"

namespace starling::learner {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using JournalLineTest = JournalTest;

TEST_F(JournalLineTest, ALongSegmentIsFollowedByTheNext) {
  constexpr std::uint64_t kCount = 20'000;
  JournalPosition end;
  {
    JournalWriter writer(journal(), kHeader, {.segment_bytes = 100'000});
    for (std::uint64_t i = 0; i < kCount; ++i) writer.Append(GrantRecord{1, i, 2 * i});
    EXPECT_TRUE(writer.Flush());
    end = writer.position();
  }
  EXPECT_GT(end.segment, 3u);
  EXPECT_EQ(ListSegments(journal()).size(), end.segment + 1);
  // No segment is longer than its limit and a buffer.
  for (const Segment& segment : ListSegments(journal())) {
    EXPECT_LT(std::filesystem::file_size(segment.path), 100'000 + 65'536 + 100);
  }
  JournalReader reader(journal());
  for (std::uint64_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(reader.Next(), JournalRecord(GrantRecord{1, i, 2 * i}));
  }
  EXPECT_FALSE(reader.Next());
  EXPECT_EQ(reader.position(), end);
}

TEST_F(JournalLineTest, ATermGoesOnBehindAnyRecord) {
  const auto expected = OneOfEach();
  const auto offsets = WriteOneOfEach();
  for (std::uint32_t keep = 0; keep < offsets.size(); ++keep) {
    GoOn(/*term=*/2 + keep, {1, 0, offsets[keep]});
    std::vector<JournalRecord> got = ReadAll(JournalReader(journal()));
    ASSERT_EQ(got.size(), keep + 1);
    EXPECT_EQ(got.back(), JournalRecord(DeathRecord{.slot = 2 + keep}));
    got.pop_back();
    EXPECT_TRUE(std::equal(got.begin(), got.end(), expected.begin()));
  }
}

TEST_F(JournalLineTest, WhatAnEarlierLearnerWritesBehindItDoesNotCount) {
  JournalWriter first(journal(), kHeader);
  first.Append(DeathRecord{.slot = 1});
  ASSERT_TRUE(first.Flush());
  const JournalPosition cut = first.position();
  const JournalPosition second = GoOn(2, cut);
  // The first learner does not know of the second.
  first.Append(DeathRecord{.slot = 99});
  ASSERT_TRUE(first.Flush());
  EXPECT_THAT(Deaths(), ElementsAre(1, 2));
  // A third goes on behind the second, a fourth behind the first: then the second does not count.
  GoOn(3, second);
  EXPECT_THAT(Deaths(), ElementsAre(1, 2, 3));
  GoOn(4, cut);
  EXPECT_THAT(Deaths(), ElementsAre(1, 4));
}

TEST_F(JournalLineTest, CanBeReadFromAnyPositionOfTheRun) {
  JournalWriter first(journal(), kHeader, {.segment_bytes = 1});  // a segment each
  std::vector<JournalPosition> behind;
  for (std::uint64_t version = 1; version <= 4; ++version) {
    first.Append(UpdateRecord{.version = version, .steps = 10 * version});
    behind.push_back(first.position());
    first.Append(DeathRecord{});
    first.Flush();
  }
  JournalWriter second(
      journal(), {.seed = 7, .fingerprint = kHeader.fingerprint, .term = 2, .after = behind[2]});
  second.Append(TermRecord{.term = 2, .version = 3});
  second.Append(UpdateRecord{.version = 4, .steps = 44});
  second.Flush();

  EXPECT_EQ(ReadAll(JournalReader(journal(), behind[1])).size(), 4u);
  const JournalTail tail = TailOf(journal(), behind[1]);
  EXPECT_EQ(tail.updates, 2u);
  EXPECT_EQ(tail.version, 4u);
  EXPECT_EQ(tail.steps, 44u);
  EXPECT_EQ(tail.end, second.position());
  EXPECT_EQ(TailOf(journal(), tail.end).updates, 0u);

  // Not part of the run: the end of the first term, what was removed, what was never written.
  std::filesystem::remove(journal() / SegmentName(1, behind[0].segment));
  JournalPosition later = second.position();
  ++later.offset;
  EXPECT_TRUE(Covers(LineOf(journal()), behind[2]));
  for (const JournalPosition nowhere : {behind[3], behind[0], later}) {
    EXPECT_FALSE(Covers(LineOf(journal()), nowhere));
    EXPECT_THROW(JournalReader(journal(), nowhere), JournalUnreadable);
  }
}

TEST_F(JournalLineTest, WhereItBreaksOffIsNamed) {
  const JournalPosition cut = GoOn(1, {}), behind = GoOn(2, cut);
  const JournalPosition end = GoOn(3, behind);
  const auto why_not = [&](JournalPosition from) {
    return ErrorOf<JournalUnreadable>([&] { JournalReader(journal(), from); });
  };
  EXPECT_EQ(why_not({9, 1, 60}), segment(9, 1).string() + " is missing");
  EXPECT_EQ(why_not({3, 0, end.offset + 1}),
            fmt::format("{} ends at byte {}, before byte {}", segment(3).string(), end.offset,
                        end.offset + 1));
  // The newest segment, and one before it.
  const auto damage = [&](std::uint32_t term) {
    std::string bytes = ReadFile(segment(term));
    bytes[3] ^= 1;
    dir_.Write("journal/" + SegmentName(term, 0), bytes);
  };
  damage(3);
  EXPECT_EQ(why_not(end), segment(3).string() + " is not a journal");
  damage(3);  // whole again
  damage(2);
  EXPECT_EQ(why_not(cut), segment(2).string() + " is not a journal");
  std::filesystem::remove(segment(2));
  EXPECT_EQ(why_not(cut), segment(2).string() + " is missing");
  std::filesystem::create_directory(segment(2));
  EXPECT_EQ(why_not(cut), segment(2).string() + " is no file");
}

TEST_F(JournalLineTest, AndSoIsWhatALaterLearnerPassedOver) {
  const JournalPosition end = GoOn(1, {});
  GoOn(2, {1, 0, kHeaderBytes});
  EXPECT_EQ(ErrorOf<JournalUnreadable>([&] { JournalReader(journal(), end); }),
            fmt::format("a later learner has passed over byte {} of {}", end.offset,
                        segment(1).string()));
}

TEST_F(JournalLineTest, ASegmentUnderAnotherNameDoesNotCount) {
  const JournalPosition end = GoOn(1, {});
  std::filesystem::copy_file(segment(1), segment(9));
  EXPECT_THAT(Deaths(), ElementsAre(1));
  EXPECT_EQ(TailOf(journal(), end).where, segment(9).string() + ", byte 0");
  std::filesystem::remove(segment(1));
  EXPECT_EQ(ErrorOf<JournalUnreadable>([&] { LineOf(journal()); }),
            segment(9).string() + " is t0001-s000000 under another name");
}

TEST_F(JournalLineTest, ATermIsUsedOnce) {
  GoOn(1, {});
  const JournalPosition cut{1, 0, kHeaderBytes};
  GoOn(2, cut);
  EXPECT_THROW(JournalWriter(journal(), Header(2, cut)), std::system_error);
}

TEST_F(JournalLineTest, ALearnerThatDiedBeforeItsHeaderLeavesNoTrace) {
  GoOn(1, {});
  std::ofstream(segment(2)).flush();
  EXPECT_THAT(Deaths(), ElementsAre(1));
}

TEST_F(JournalLineTest, AnEarlierSegmentThatEndsTooEarlyIsDamage) {
  const JournalPosition cut = GoOn(1, {});
  GoOn(2, cut);
  std::filesystem::resize_file(segment(1), cut.offset - 1);
  EXPECT_THAT(ReadAll(JournalReader(journal()), JournalEnding::kDamaged), IsEmpty());
}

TEST_F(JournalLineTest, TheFileOfAnOlderProgramIsItsFirstSegment) {
  // 1. Format 1: no term, no position.
  const auto offsets = WriteOneOfEach();
  const std::string bytes = ReadFile(segment(1));
  std::string old = bytes.substr(0, 32) + "sum!" + bytes.substr(kHeaderBytes);
  old[8] = 1;
  PutChecksum(old, 0, 32);
  std::filesystem::remove_all(journal());
  dir_.Write("journal", old);
  EXPECT_EQ(ReadAll(JournalReader(journal())), OneOfEach());
  // 2. A resumed run makes it a segment.
  const std::uint64_t shorter = kHeaderBytes - 36;
  GoOn(2, {0, 0, offsets[3] - shorter});
  EXPECT_EQ(ReadAll(JournalReader(journal())).size(), 4u);
  EXPECT_EQ(ReadFile(segment(0)), old);
}

// ---- beginnings

TEST_F(JournalLineTest, APositionInsideARecordIsIncomplete) {
  const auto offsets = WriteOneOfEach();
  {
    JournalWriter writer(journal(), Header(2, {1, 0, offsets[5] + 1}));
    EXPECT_FALSE(writer.complete());
  }
  EXPECT_EQ(ReadAll(JournalReader(journal())).size(), 5u);
  // Shorter than the position.
  std::filesystem::resize_file(segment(1), offsets[3] + 2);
  {
    JournalWriter writer(journal(), Header(3, {1, 0, offsets[5]}));
    EXPECT_FALSE(writer.complete());
    EXPECT_THAT(writer.error(), HasSubstr(segment(1).string()));
    EXPECT_TRUE(writer.Append(JoinRecord{1, 2}));
  }
  EXPECT_EQ(ReadAll(JournalReader(journal())).size(), 4u);
}

TEST_F(JournalLineTest, ANewOneBeginsIfTheOldOneIsMissingOrUnreadable) {
  for (const char* content :
       {"", "rubbish that is no journal, longer than a journal's header is"}) {
    std::filesystem::remove_all(journal());
    if (*content) dir_.Write("journal", content);
    {
      JournalWriter writer(journal(), Header(2, {0, 0, 1000}));
      EXPECT_FALSE(writer.complete());
      EXPECT_EQ(writer.position(), (JournalPosition{2, 0, kHeaderBytes}));
      writer.Append(JoinRecord{1, 2});
    }
    EXPECT_EQ(ReadAll(JournalReader(journal())).size(), 1u);
  }
}

TEST_F(JournalLineTest, ThatOfAnotherRunIsRefused) {
  WriteOneOfEach();
  JournalHeader other = Header(2, {1, 0, kHeaderBytes});
  other.seed = 8;
  EXPECT_THROW(JournalWriter(journal(), other), std::runtime_error);
  other = Header(2, {1, 0, kHeaderBytes});
  other.fingerprint = 1;
  EXPECT_THROW(JournalWriter(journal(), other), std::runtime_error);
  EXPECT_EQ(ReadAll(JournalReader(journal())), OneOfEach());
}

TEST_F(JournalLineTest, ANewRunReplacesAnOldJournal) {
  WriteOneOfEach();
  { JournalWriter writer(journal(), {.seed = 8, .fingerprint = 9, .term = 5}); }
  EXPECT_EQ(ListSegments(journal()).size(), 1u);
  EXPECT_EQ(JournalReader(journal()).header().seed, 8u);
}

// ---- a full disk

// Simulated by the file size limit.
TEST_F(JournalLineTest, ADiskThatFillsUpLeavesTheRecordsBeforeItWhole) {
  int reported = 0;
  std::uint64_t flushed = 0;
  {
    const FileSizeLimit limit(1000);
    JournalWriter writer(journal(), kHeader);
    for (std::uint64_t i = 0; i < 100; ++i) {
      reported += writer.Append(GrantRecord{1, i, i}) ? 0 : 1;
      if (i % 7 == 6) reported += writer.Flush() ? 0 : 1;
      if (reported == 0 && i % 7 == 6) flushed = i + 1;
    }
    EXPECT_FALSE(writer.complete());
    EXPECT_THAT(writer.error(), HasSubstr("cannot write " + segment(1).string()));
    EXPECT_EQ(writer.position().offset, 881u) << "behind the record of the gap";
    EXPECT_NO_THROW(writer.TakeSync().Run());
  }
  EXPECT_EQ(reported, 1);
  EXPECT_EQ(flushed, 28u);  // 60 + 28 * 29 = 872; seven more would be 1075
  // Behind them it is said that more is missing.
  const std::vector<JournalRecord> records = ReadAll(JournalReader(journal()));
  ASSERT_EQ(records.size(), flushed + 1);
  EXPECT_EQ(records.back(), JournalRecord(GapRecord{}));
  const JournalTail tail = TailOf(journal(), {});
  EXPECT_TRUE(tail.damaged);
  EXPECT_EQ(tail.where, segment(1).string() + ", byte 872, where a write failed");
}

TEST_F(JournalLineTest, AGapIsFoundWhereItsSegmentBegins) {
  JournalWriter writer(journal(), kHeader, {.segment_bytes = 1});  // a segment each
  writer.Append(DeathRecord{});
  writer.Flush();
  writer.Append(GapRecord{});
  writer.Flush();
  EXPECT_EQ(TailOf(journal(), {}).where,
            fmt::format("{}, byte {}, where a write failed", segment(1, 1).string(), kHeaderBytes));
}

// A later start goes on where this one would have.
TEST_F(JournalLineTest, ASegmentWithoutRoomForItsHeaderIsNotThere) {
  const JournalPosition end = GoOn(1, {});
  {
    const FileSizeLimit limit(30);
    JournalWriter writer(journal(), Header(2, end));
    EXPECT_FALSE(writer.complete());
    EXPECT_TRUE(writer.broken());
    EXPECT_THAT(writer.error(), HasSubstr("cannot write " + segment(2).string()));
    EXPECT_EQ(writer.position(), end);
  }
  EXPECT_FALSE(std::filesystem::exists(segment(2)));
  GoOn(3, end);
  EXPECT_THAT(Deaths(), ElementsAre(1, 3));
}

TEST_F(JournalLineTest, BehindAGapItGoesOnInANewSegment) {
  const TermRecord cut{.term = 1, .version = 60, .steps = 600};
  JournalWriter writer(journal(), kHeader);
  writer.Append(UpdateRecord{.version = 1, .steps = 10});
  EXPECT_TRUE(writer.Flush());
  const JournalPosition end = writer.position();
  {
    const FileSizeLimit limit(end.offset + 5);  // no room for the record of a gap
    writer.Append(UpdateRecord{.version = 2, .steps = 20});
    EXPECT_FALSE(writer.Flush());
    limit.Set(30);
    EXPECT_FALSE(writer.GoOn(cut, 0.5)) << "still none for a header";
    EXPECT_TRUE(writer.broken());
    EXPECT_EQ(writer.position(), end);
    EXPECT_EQ(writer.gaps(), 1u);
  }
  writer.Append(UpdateRecord{.version = 3, .steps = 30});  // lost
  ASSERT_TRUE(writer.GoOn(cut, 0.5)) << writer.error();
  EXPECT_FALSE(writer.broken());
  EXPECT_FALSE(writer.complete()) << "records are missing for good";
  const JournalPosition from = writer.position();
  writer.Append(UpdateRecord{.version = 61, .steps = 610});
  EXPECT_TRUE(writer.Flush());
  writer.TakeSync().Run();
  // All of it, with the gap; up to the gap; and behind it.
  std::vector<std::uint64_t> versions;
  bool gap = false;
  for (const JournalRecord& record : ReadAll(JournalReader(journal()))) {
    if (const auto* update = std::get_if<UpdateRecord>(&record))
      versions.push_back(update->version);
    if (std::holds_alternative<GapRecord>(record)) gap = versions.size() == 1;
  }
  EXPECT_THAT(versions, ElementsAre(1, 61));
  EXPECT_TRUE(gap);
  const JournalTail before = TailOf(journal(), {});
  EXPECT_EQ(before.version, 1u);
  EXPECT_EQ(before.end, end);
  EXPECT_TRUE(before.damaged);
  EXPECT_EQ(before.where, segment(1, 2).string() + ", byte 60, where a write failed");
  const JournalTail behind = TailOf(journal(), from);
  EXPECT_EQ(behind.updates, 1u);
  EXPECT_FALSE(behind.damaged);
}

TEST_F(JournalLineTest, ADirectoryThatCannotBeMadeIsAnError) {
  dir_.Write("file", "");
  EXPECT_THROW(JournalWriter(dir_ / "file" / "journal", kHeader), std::system_error);
}

}  // namespace
}  // namespace starling::learner
