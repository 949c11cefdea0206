// Segments of the journal: what is written is read, torn tails and damage are found.
#include <gmock/gmock.h>

#include <string>

#include "core/file.h"
#include "tests/learner/storage/journal_fixture.h"
#include "tests/support/error_of.h"

namespace starling::learner {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

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

// Even one that points behind the end of the file, which a killed writer leaves too.
TEST_F(JournalTest, ALengthThatContradictsItsKindIsDamage) {
  const auto offsets = WriteOneOfEach();
  const std::string bytes = ReadFile(segment(1));
  for (std::size_t record = 0; record < OneOfEach().size(); ++record) {
    for (const int byte : {1, 2}) {
      std::string flipped = bytes;
      flipped[offsets[record] + static_cast<std::size_t>(byte)] ^= 0x10;
      SegmentReader reader(dir_.Write("flipped", flipped));
      for (std::size_t i = 0; i < record; ++i) EXPECT_TRUE(reader.Next());
      EXPECT_FALSE(reader.Next());
      EXPECT_EQ(reader.ending(), JournalEnding::kDamaged) << record << ", byte " << byte;
    }
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

// 65,533 gradients in one update ended the learner.
TEST_F(JournalTest, AnUpdateMayBeOfVeryManyGradients) {
  UpdateRecord update{.version = 1, .items = std::vector<UpdateRecord::Item>(100'000, {1, 2, 3})};
  JournalWriter writer(journal(), kHeader);
  EXPECT_TRUE(writer.Append(update));
  EXPECT_TRUE(writer.Append(JoinRecord{1, 2}));
  // One that no reader takes ends the journal, not the run.
  update.items.resize(kMaxJournalPayload / 16);
  EXPECT_FALSE(writer.Append(update));
  EXPECT_TRUE(writer.Append(JoinRecord{3, 4}));
  EXPECT_THAT(writer.error(), HasSubstr("cannot write so long a record to " + segment(1).string()));
  const std::vector<JournalRecord> read = ReadAll(JournalReader(journal()));
  ASSERT_EQ(read.size(), 3u);
  EXPECT_EQ(std::get<UpdateRecord>(read[0]).items.size(), 100'000u);
  EXPECT_EQ(read[2], JournalRecord(GapRecord{}));
}

TEST_F(JournalTest, FlushMakesRecordsReadableWhileTheRunGoesOn) {
  JournalWriter writer(journal(), kHeader);
  writer.Append(JoinRecord{1, 2});
  EXPECT_TRUE(ReadAll(JournalReader(journal())).empty());  // buffered
  EXPECT_TRUE(writer.Flush());
  EXPECT_EQ(ReadAll(JournalReader(journal())).size(), 1u);
  writer.Append(JoinRecord{1, 2});
  EXPECT_NO_THROW(writer.TakeSync().Run());
  EXPECT_EQ(ReadAll(JournalReader(journal())).size(), 2u);
}

}  // namespace
}  // namespace starling::learner
