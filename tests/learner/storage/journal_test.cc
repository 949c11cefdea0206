// Segments and the line of a run: what is written is read, torn tails and damage are found, a term
// goes on where its checkpoint was, and what an earlier learner wrote behind that does not count.
#include <gmock/gmock.h>
#include <xxhash.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/file.h"
#include "learner/storage/journal_reader.h"
#include "learner/storage/journal_writer.h"
#include "tests/support/error_of.h"
#include "tests/support/in_child.h"
#include "tests/support/temp_dir.h"

namespace starling::learner {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr JournalHeader kHeader{.seed = 7, .fingerprint = 0x1234567890abcdef, .term = 1};
constexpr std::uint64_t kHeaderBytes = 60;

// Returns a record of each kind, with values in every byte of every field.
std::vector<JournalRecord> OneOfEach() {
  constexpr std::uint64_t kBig = 0xfedcba9876543210;
  return {
      TermRecord{.term = 0x01020304, .version = kBig, .steps = kBig + 1},
      JoinRecord{.slot = 5, .incarnation = 0x80000001},
      GrantRecord{.slot = 5, .number = kBig + 2, .version = kBig + 3},
      ArrivalRecord{.slot = 5,
                    .incarnation = 6,
                    .sequence = kBig + 4,
                    .grant = kBig + 5,
                    .base_version = kBig + 6,
                    .samples = 160,
                    .outcome = 255},
      LostRecord{.slot = 9, .grant = kBig, .why = LostWhy::kDeadline},
      DeathRecord{.slot = 9, .incarnation = 3},
      UpdateRecord{.version = kBig,
                   .steps = 320,
                   .lr = 1e-300,
                   .scale = 1.0 / 3,
                   .entropy = 0.03,
                   .items = {{1, 2, 3}, {4, 5, kBig}}},
      HashRecord{.version = kBig, .hash = ~std::uint64_t{0}},
      EntropyRecord{.entropy = 0.03},
  };
}

// All records that `reader` returns.
template <class Reader>
std::vector<JournalRecord> ReadAll(Reader reader, JournalEnding ending = JournalEnding::kEnd) {
  std::vector<JournalRecord> records;
  while (auto record = reader.Next()) records.push_back(*record);
  EXPECT_EQ(reader.ending(), ending);
  return records;
}

class JournalTest : public testing::Test {
 protected:
  std::filesystem::path journal() const { return dir_ / "journal"; }
  std::filesystem::path segment(std::uint32_t term, std::uint32_t number = 0) const {
    return journal() / SegmentName(term, number);
  }
  JournalHeader Header(std::uint32_t term, JournalPosition after = {}) const {
    JournalHeader header = kHeader;
    header.term = term;
    header.after = after;
    return header;
  }
  // Writes a record of each kind in term 1. Returns the offset before each record and at the end.
  std::vector<std::uint64_t> WriteOneOfEach() {
    JournalWriter writer(journal(), kHeader);
    std::vector<std::uint64_t> offsets;
    for (const JournalRecord& record : OneOfEach()) {
      offsets.push_back(writer.position().offset);
      EXPECT_TRUE(writer.Append(record));
    }
    offsets.push_back(writer.position().offset);
    EXPECT_TRUE(writer.complete());
    return offsets;
  }
  // Starts `term` behind `after`, and writes a death of slot `term`.
  JournalPosition GoOn(std::uint32_t term, JournalPosition after) {
    JournalWriter writer(journal(), Header(term, after));
    EXPECT_TRUE(writer.complete()) << writer.error();
    writer.Append(DeathRecord{.slot = term});
    return writer.position();
  }
  // The slots of the deaths in the journal.
  std::vector<std::uint32_t> Deaths() {
    std::vector<std::uint32_t> slots;
    for (const JournalRecord& record : ReadAll(JournalReader(journal()))) {
      slots.push_back(std::get<DeathRecord>(record).slot);
    }
    return slots;
  }

  TempDir dir_;
};

// ---- one segment

TEST_F(JournalTest, ReadsBackWhatWasWritten) {
  const auto offsets = WriteOneOfEach();
  EXPECT_EQ(ReadAll(JournalReader(journal())), OneOfEach());
  SegmentReader reader(segment(1));
  EXPECT_EQ(reader.header(), kHeader);
  for (const std::uint64_t offset : offsets) {
    EXPECT_EQ(reader.offset(), offset);
    reader.Next();
  }
  EXPECT_EQ(std::filesystem::file_size(segment(1)), offsets.back());
}

TEST_F(JournalTest, HasTheDocumentedLayout) {
  {
    JournalWriter writer(journal(), kHeader);
    EXPECT_EQ(writer.position(), (JournalPosition{1, 0, kHeaderBytes}));
    writer.Append(JoinRecord{.slot = 0x0201, .incarnation = 3});
    writer.Append(UpdateRecord{.version = 1, .items = {{1, 2, 3}}});
  }
  EXPECT_EQ(segment(1).filename(), "t0001-s000000");
  const std::string bytes = ReadFile(segment(1));
  const auto text = [&](std::size_t at, std::size_t n) { return bytes.substr(at, n); };
  EXPECT_EQ(text(0, 8), "STLJRNL\n");
  EXPECT_EQ(text(8, 8), std::string("\2\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(text(16, 8), std::string("\7\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(text(24, 8), "\xef\xcd\xab\x90\x78\x56\x34\x12");
  EXPECT_EQ(text(32, 8), std::string("\1\0\0\0\0\0\0\0", 8));  // term, segment
  EXPECT_EQ(text(40, 16), std::string(16, '\0'));              // behind nothing
  // length 8, kind 2, slot, incarnation, checksum
  EXPECT_EQ(text(60, 13), std::string("\x8\0\0\0\x2\1\2\0\0\3\0\0\0", 13));
  // length: five words of 8, a count, one item of 4 + 4 + 8; kind 7
  EXPECT_EQ(text(77, 5), std::string("\x3c\0\0\0\x7", 5));
  EXPECT_EQ(bytes.size(), 77 + 5 + 60 + 4u);
}

TEST_F(JournalTest, ATornTailEndsAtTheLastWholeRecord) {
  const auto offsets = WriteOneOfEach();
  const std::string bytes = ReadFile(segment(1));
  const auto expected = OneOfEach();
  for (std::uint64_t size = kHeaderBytes; size < bytes.size(); ++size) {
    dir_.Write("torn", std::string_view(bytes).substr(0, size));
    SegmentReader reader(dir_ / "torn");
    std::size_t count = 0;
    while (const auto record = reader.Next()) EXPECT_EQ(*record, expected[count++]);
    EXPECT_EQ(reader.offset(), offsets[count]);
    EXPECT_LE(offsets[count], size);
    EXPECT_GT(offsets[count + 1], size);
    EXPECT_EQ(reader.ending(), size == offsets[count] ? JournalEnding::kEnd : JournalEnding::kTorn);
  }
}

TEST_F(JournalTest, AFlippedBitAnywhereIsFound) {
  const auto offsets = WriteOneOfEach();
  const std::string bytes = ReadFile(segment(1));
  const auto expected = OneOfEach();
  for (std::size_t byte = 0; byte < bytes.size(); ++byte) {
    std::string flipped = bytes;
    flipped[byte] = static_cast<char>(flipped[byte] ^ (1 << byte % 8));  // bits 0 to 7 in turn
    dir_.Write("flipped", flipped);
    if (byte < kHeaderBytes) {
      EXPECT_THROW(SegmentReader(dir_ / "flipped"), JournalUnreadable) << byte;
      continue;
    }
    SegmentReader reader(dir_ / "flipped");
    std::size_t count = 0;
    while (const auto record = reader.Next()) EXPECT_EQ(*record, expected[count++]);
    EXPECT_NE(reader.ending(), JournalEnding::kEnd) << byte;
    EXPECT_LE(reader.offset(), byte);
    EXPECT_GT(offsets[count + 1], byte);  // every record before the flip is read
  }
}

// With the checksum that another program would write.
void PutChecksum(std::string& bytes, std::size_t begin, std::size_t end) {
  const auto checksum = static_cast<std::uint32_t>(XXH3_64bits(bytes.data() + begin, end - begin));
  std::memcpy(bytes.data() + end, &checksum, sizeof checksum);
}

TEST_F(JournalTest, ReservedBytesMustBeZero) {
  WriteOneOfEach();
  std::string bytes = ReadFile(segment(1));
  bytes[12] = 1;
  PutChecksum(bytes, 0, kHeaderBytes - 4);
  EXPECT_THROW(SegmentReader(dir_.Write("reserved", bytes)), JournalUnreadable);
}

TEST_F(JournalTest, AnUnknownReasonIsDamage) {
  {
    JournalWriter writer(journal(), kHeader);
    writer.Append(LostRecord{.slot = 1, .grant = 2, .why = LostWhy::kDeadline});
  }
  std::string bytes = ReadFile(segment(1));
  for (const char why : {'\0', '\3'}) {
    bytes[bytes.size() - 5] = why;
    PutChecksum(bytes, kHeaderBytes + 4, bytes.size() - 4);
    EXPECT_THAT(ReadAll(SegmentReader(dir_.Write("lost", bytes)), JournalEnding::kDamaged),
                IsEmpty());
  }
}

TEST_F(JournalTest, ReportsAFileThatIsNotAJournal) {
  for (const std::string_view content :
       {"", "STLJRNL", "no journal at all, but long enough for the header of one, which is long"}) {
    const auto path = dir_.Write("journal", content);
    EXPECT_THAT(ErrorOf<JournalUnreadable>([&] { JournalReader reader(path); }),
                HasSubstr(path.string() + " is not a journal"));
  }
  EXPECT_THROW(JournalReader(dir_ / "missing"), std::system_error);
}

TEST_F(JournalTest, ManyRecordsPassThroughTheBuffersInOrder) {
  constexpr std::uint64_t kCount = 20'000;  // about 600 KiB, many buffers
  {
    JournalWriter writer(journal(), kHeader);
    for (std::uint64_t i = 0; i < kCount; ++i) writer.Append(GrantRecord{1, i, 2 * i});
    EXPECT_EQ(writer.position().offset, kHeaderBytes + kCount * (9 + 20));
  }
  JournalReader reader(journal());
  for (std::uint64_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(reader.Next(), JournalRecord(GrantRecord{1, i, 2 * i}));
  }
  EXPECT_FALSE(reader.Next());
}

TEST_F(JournalTest, FlushMakesRecordsReadableWhileTheRunGoesOn) {
  JournalWriter writer(journal(), kHeader);
  writer.Append(JoinRecord{1, 2});
  EXPECT_TRUE(ReadAll(JournalReader(journal())).empty());  // buffered
  EXPECT_TRUE(writer.Flush());
  EXPECT_EQ(ReadAll(JournalReader(journal())).size(), 1u);
  writer.Append(JoinRecord{1, 2});
  EXPECT_EQ(writer.TakeSync().Run(), "");
  EXPECT_EQ(ReadAll(JournalReader(journal())).size(), 2u);
}

// ---- the line of a run

TEST_F(JournalTest, ALongSegmentIsFollowedByTheNext) {
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

TEST_F(JournalTest, ATermGoesOnBehindAnyRecord) {
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

TEST_F(JournalTest, WhatAnEarlierLearnerWritesBehindItDoesNotCount) {
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

TEST_F(JournalTest, ATermIsUsedOnce) {
  GoOn(1, {});
  const JournalPosition cut{1, 0, kHeaderBytes};
  GoOn(2, cut);
  EXPECT_THROW(JournalWriter(journal(), Header(2, cut)), std::system_error);
}

TEST_F(JournalTest, ALearnerThatDiedBeforeItsHeaderLeavesNoTrace) {
  GoOn(1, {});
  std::ofstream(segment(2)).flush();
  EXPECT_THAT(Deaths(), ElementsAre(1));
}

TEST_F(JournalTest, AnEarlierSegmentThatEndsTooEarlyIsDamage) {
  const JournalPosition cut = GoOn(1, {});
  GoOn(2, cut);
  std::filesystem::resize_file(segment(1), cut.offset - 1);
  EXPECT_THAT(ReadAll(JournalReader(journal()), JournalEnding::kDamaged), IsEmpty());
}

TEST_F(JournalTest, TheFileOfAnOlderProgramIsItsFirstSegment) {
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

TEST_F(JournalTest, APositionInsideARecordIsIncomplete) {
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

TEST_F(JournalTest, ANewOneBeginsIfTheOldOneIsMissingOrUnreadable) {
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

TEST_F(JournalTest, ThatOfAnotherRunIsRefused) {
  WriteOneOfEach();
  JournalHeader other = Header(2, {1, 0, kHeaderBytes});
  other.seed = 8;
  EXPECT_THROW(JournalWriter(journal(), other), std::runtime_error);
  other = Header(2, {1, 0, kHeaderBytes});
  other.fingerprint = 1;
  EXPECT_THROW(JournalWriter(journal(), other), std::runtime_error);
  EXPECT_EQ(ReadAll(JournalReader(journal())), OneOfEach());
}

TEST_F(JournalTest, ANewRunReplacesAnOldJournal) {
  WriteOneOfEach();
  { JournalWriter writer(journal(), {.seed = 8, .fingerprint = 9, .term = 5}); }
  EXPECT_EQ(ListSegments(journal()).size(), 1u);
  EXPECT_EQ(JournalReader(journal()).header().seed, 8u);
}

// ---- a full disk

// Simulated by the file size limit.
TEST_F(JournalTest, ADiskThatFillsUpLeavesTheRecordsBeforeItWhole) {
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
    EXPECT_EQ(writer.position().offset, std::filesystem::file_size(segment(1)));
    EXPECT_EQ(writer.TakeSync().Run(), "");
  }
  EXPECT_EQ(reported, 1);
  EXPECT_EQ(flushed, 28u);  // 60 + 28 * 29 = 872; seven more would be 1075
  EXPECT_EQ(ReadAll(JournalReader(journal())).size(), flushed);
}

TEST_F(JournalTest, ADirectoryThatCannotBeMadeIsAnError) {
  dir_.Write("file", "");
  EXPECT_THROW(JournalWriter(dir_ / "file" / "journal", kHeader), std::system_error);
}

}  // namespace
}  // namespace starling::learner
