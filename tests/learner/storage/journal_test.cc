#include "learner/storage/journal.h"

#include <gtest/gtest.h>
#include <xxhash.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "core/file.h"
#include "tests/support/error_of.h"
#include "tests/support/in_child.h"
#include "tests/support/temp_dir.h"

namespace starling::learner {
namespace {

constexpr JournalHeader kHeader{.seed = 7, .fingerprint = 0x1234567890abcdef};
constexpr std::uint64_t kHeaderBytes = 36;

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

std::vector<JournalRecord> ReadAll(const std::filesystem::path& path,
                                   JournalReader::Ending ending = JournalReader::Ending::kEnd) {
  JournalReader reader(path);
  std::vector<JournalRecord> records;
  while (auto record = reader.Next()) records.push_back(*record);
  EXPECT_EQ(reader.ending(), ending);
  return records;
}

// Writes a record of each kind. Returns the offset before each record and at the end.
std::vector<std::uint64_t> WriteOneOfEach(const std::filesystem::path& path) {
  JournalWriter writer(path, kHeader);
  std::vector<std::uint64_t> offsets;
  for (const JournalRecord& record : OneOfEach()) {
    offsets.push_back(writer.offset());
    EXPECT_TRUE(writer.Append(record));
  }
  offsets.push_back(writer.offset());
  EXPECT_TRUE(writer.complete());
  return offsets;
}

using JournalTest = TempDirTest;

TEST_F(JournalTest, ReadsBackWhatWasWritten) {
  const auto offsets = WriteOneOfEach(dir_ / "journal");
  EXPECT_EQ(ReadAll(dir_ / "journal"), OneOfEach());
  JournalReader reader(dir_ / "journal");
  EXPECT_EQ(reader.header(), kHeader);
  for (const std::uint64_t offset : offsets) {
    EXPECT_EQ(reader.offset(), offset);
    reader.Next();
  }
  EXPECT_EQ(std::filesystem::file_size(dir_ / "journal"), offsets.back());
}

TEST_F(JournalTest, HasTheDocumentedLayout) {
  {
    JournalWriter writer(dir_ / "journal", kHeader);
    EXPECT_EQ(writer.offset(), kHeaderBytes);
    writer.Append(JoinRecord{.slot = 0x0201, .incarnation = 3});
    writer.Append(UpdateRecord{.version = 1, .items = {{1, 2, 3}}});
  }
  const std::string bytes = ReadFile(dir_ / "journal");
  const auto text = [&](std::size_t at, std::size_t n) { return bytes.substr(at, n); };
  EXPECT_EQ(text(0, 8), "STLJRNL\n");
  EXPECT_EQ(text(8, 8), std::string("\1\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(text(16, 8), std::string("\7\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(text(24, 8), "\xef\xcd\xab\x90\x78\x56\x34\x12");
  // length 8, kind 2, slot, incarnation, checksum
  EXPECT_EQ(text(36, 13), std::string("\x8\0\0\0\x2\1\2\0\0\3\0\0\0", 13));
  // length: five words of 8, a count, one item of 4 + 4 + 8; kind 7
  EXPECT_EQ(text(53, 5), std::string("\x3c\0\0\0\x7", 5));
  EXPECT_EQ(bytes.size(), 53 + 5 + 60 + 4u);
}

TEST_F(JournalTest, ATornTailEndsAtTheLastWholeRecord) {
  const auto offsets = WriteOneOfEach(dir_ / "whole");
  const std::string bytes = ReadFile(dir_ / "whole");
  const auto expected = OneOfEach();
  for (std::uint64_t size = kHeaderBytes; size < bytes.size(); ++size) {
    dir_.Write("torn", std::string_view(bytes).substr(0, size));
    JournalReader reader(dir_ / "torn");
    std::size_t count = 0;
    while (const auto record = reader.Next()) EXPECT_EQ(*record, expected[count++]);
    EXPECT_EQ(reader.offset(), offsets[count]);
    EXPECT_LE(offsets[count], size);
    EXPECT_GT(offsets[count + 1], size);
    EXPECT_EQ(reader.ending(),
              size == offsets[count] ? JournalReader::Ending::kEnd : JournalReader::Ending::kTorn);
  }
}

TEST_F(JournalTest, AFlippedBitAnywhereIsFound) {
  const auto offsets = WriteOneOfEach(dir_ / "whole");
  const std::string bytes = ReadFile(dir_ / "whole");
  const auto expected = OneOfEach();
  for (std::size_t byte = 0; byte < bytes.size(); ++byte) {
    std::string flipped = bytes;
    flipped[byte] = static_cast<char>(flipped[byte] ^ (1 << byte % 8));  // bits 0 to 7 in turn
    dir_.Write("flipped", flipped);
    if (byte < kHeaderBytes) {
      EXPECT_THROW(JournalReader(dir_ / "flipped"), JournalUnreadable) << byte;
      continue;
    }
    JournalReader reader(dir_ / "flipped");
    std::size_t count = 0;
    while (const auto record = reader.Next()) EXPECT_EQ(*record, expected[count++]);
    EXPECT_NE(reader.ending(), JournalReader::Ending::kEnd) << byte;
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
  WriteOneOfEach(dir_ / "journal");
  std::string bytes = ReadFile(dir_ / "journal");
  bytes[12] = 1;
  PutChecksum(bytes, 0, kHeaderBytes - 4);
  EXPECT_THROW(JournalReader(dir_.Write("reserved", bytes)), JournalUnreadable);
}

TEST_F(JournalTest, AnUnknownReasonIsDamage) {
  {
    JournalWriter writer(dir_ / "journal", kHeader);
    writer.Append(LostRecord{.slot = 1, .grant = 2, .why = LostWhy::kDeadline});
  }
  std::string bytes = ReadFile(dir_ / "journal");
  for (const char why : {'\0', '\3'}) {
    bytes[bytes.size() - 5] = why;
    PutChecksum(bytes, kHeaderBytes + 4, bytes.size() - 4);
    EXPECT_TRUE(ReadAll(dir_.Write("lost", bytes), JournalReader::Ending::kDamaged).empty());
  }
}

TEST_F(JournalTest, ReportsAFileThatIsNotAJournal) {
  for (const std::string_view content :
       {"", "STLJRNL", "no journal at all, but long enough for one"}) {
    const auto path = dir_.Write("journal", content);
    EXPECT_NE(ErrorOf<JournalUnreadable>([&] {
                JournalReader reader(path);
              }).find(path.string() + " is not a journal"),
              std::string::npos);
  }
  EXPECT_THROW(JournalReader(dir_ / "missing"), std::system_error);
}

using JournalWriterTest = TempDirTest;

TEST_F(JournalWriterTest, CutsAndContinues) {
  const auto expected = OneOfEach();
  const auto offsets = WriteOneOfEach(dir_ / "whole");
  for (std::size_t keep = 0; keep < offsets.size(); ++keep) {
    std::filesystem::copy_file(dir_ / "whole", dir_ / "journal",
                               std::filesystem::copy_options::overwrite_existing);
    {
      JournalWriter writer(dir_ / "journal", kHeader, offsets[keep]);
      EXPECT_TRUE(writer.complete()) << writer.error();
      EXPECT_EQ(writer.offset(), offsets[keep]);
      writer.Append(DeathRecord{77, 88});
    }
    std::vector<JournalRecord> got = ReadAll(dir_ / "journal");
    ASSERT_EQ(got.size(), keep + 1);
    EXPECT_EQ(got.back(), JournalRecord(DeathRecord{77, 88}));
    got.pop_back();
    EXPECT_TRUE(std::equal(got.begin(), got.end(), expected.begin()));
  }
}

TEST_F(JournalWriterTest, AJournalThatIsNotCutBetweenRecordsIsContinuedAndIncomplete) {
  const auto offsets = WriteOneOfEach(dir_ / "journal");
  {
    JournalWriter writer(dir_ / "journal", kHeader, offsets[5] + 1);  // inside a record
    EXPECT_FALSE(writer.complete());
    EXPECT_EQ(writer.offset(), offsets[5]);
  }
  // Shorter than the cut.
  std::filesystem::resize_file(dir_ / "journal", offsets[3] + 2);
  {
    JournalWriter writer(dir_ / "journal", kHeader, offsets[5]);
    EXPECT_FALSE(writer.complete());
    EXPECT_NE(writer.error().find((dir_ / "journal").string()), std::string::npos);
    EXPECT_EQ(writer.offset(), offsets[3]);
    EXPECT_TRUE(writer.Append(JoinRecord{1, 2}));
  }
  EXPECT_EQ(ReadAll(dir_ / "journal").size(), 4u);
}

TEST_F(JournalWriterTest, StartsANewJournalIfTheOldOneIsMissingOrUnreadable) {
  for (const char* content : {"", "rubbish that is no journal, longer than a journal's header"}) {
    if (*content) dir_.Write("journal", content);
    {
      JournalWriter writer(dir_ / "journal", kHeader, 1000);
      EXPECT_FALSE(writer.complete());
      EXPECT_EQ(writer.offset(), kHeaderBytes);
      writer.Append(JoinRecord{1, 2});
    }
    EXPECT_EQ(ReadAll(dir_ / "journal").size(), 1u);
  }
}

TEST_F(JournalWriterTest, RefusesTheJournalOfAnotherRun) {
  WriteOneOfEach(dir_ / "journal");
  const std::string before = ReadFile(dir_ / "journal");
  EXPECT_THROW(JournalWriter(dir_ / "journal", {.seed = 8, .fingerprint = kHeader.fingerprint}, 36),
               std::runtime_error);
  EXPECT_THROW(JournalWriter(dir_ / "journal", {.seed = 7, .fingerprint = 1}, 36),
               std::runtime_error);
  EXPECT_EQ(ReadFile(dir_ / "journal"), before);
}

TEST_F(JournalWriterTest, WithoutACutReplacesAnOldJournal) {
  WriteOneOfEach(dir_ / "journal");
  { JournalWriter writer(dir_ / "journal", {.seed = 8, .fingerprint = 9}); }
  EXPECT_EQ(std::filesystem::file_size(dir_ / "journal"), kHeaderBytes);
  EXPECT_EQ(JournalReader(dir_ / "journal").header().seed, 8u);
}

TEST_F(JournalWriterTest, FlushMakesRecordsReadableWhileTheRunGoesOn) {
  JournalWriter writer(dir_ / "journal", kHeader);
  writer.Append(JoinRecord{1, 2});
  EXPECT_TRUE(ReadAll(dir_ / "journal").empty());  // buffered
  EXPECT_TRUE(writer.Flush());
  EXPECT_EQ(ReadAll(dir_ / "journal").size(), 1u);
  writer.Append(JoinRecord{1, 2});
  EXPECT_TRUE(writer.Sync());
  EXPECT_EQ(ReadAll(dir_ / "journal").size(), 2u);
}

TEST_F(JournalWriterTest, ManyRecordsPassThroughTheBufferInOrder) {
  constexpr std::uint64_t kCount = 20'000;  // about 600 KiB, many buffers
  {
    JournalWriter writer(dir_ / "journal", kHeader);
    for (std::uint64_t i = 0; i < kCount; ++i) writer.Append(GrantRecord{1, i, 2 * i});
    EXPECT_EQ(writer.offset(), kHeaderBytes + kCount * (9 + 20));
  }
  JournalReader reader(dir_ / "journal");
  for (std::uint64_t i = 0; i < kCount; ++i) {
    ASSERT_EQ(reader.Next(), JournalRecord(GrantRecord{1, i, 2 * i}));
  }
  EXPECT_FALSE(reader.Next());
}

TEST_F(JournalWriterTest, AFullDiskIsReportedOnceAndTheJournalIsIncomplete) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  std::filesystem::create_symlink("/dev/full", dir_ / "journal");
  JournalWriter writer(dir_ / "journal", kHeader);
  EXPECT_FALSE(writer.complete());  // the header did not fit
  EXPECT_NE(writer.error().find("cannot write"), std::string::npos);
  EXPECT_NE(writer.error().find((dir_ / "journal").string()), std::string::npos);
  EXPECT_TRUE(writer.Append(JoinRecord{1, 2}));  // discarded, and not reported again
  EXPECT_TRUE(writer.Flush());
  EXPECT_TRUE(writer.Sync());
  EXPECT_EQ(writer.offset(), 0u);
}

// A disk that becomes full during a write, simulated by the file size limit.
TEST_F(JournalWriterTest, ADiskThatFillsUpLeavesTheRecordsBeforeItWhole) {
  int reported = 0;
  std::uint64_t flushed = 0;
  {
    const FileSizeLimit limit(1000);
    JournalWriter writer(dir_ / "journal", kHeader);
    for (std::uint64_t i = 0; i < 100; ++i) {
      reported += writer.Append(GrantRecord{1, i, i}) ? 0 : 1;
      if (i % 7 == 6) reported += writer.Flush() ? 0 : 1;
      if (reported == 0 && i % 7 == 6) flushed = i + 1;
    }
    EXPECT_FALSE(writer.complete());
    EXPECT_EQ(writer.offset(), std::filesystem::file_size(dir_ / "journal"));
  }
  EXPECT_EQ(reported, 1);
  EXPECT_EQ(flushed, 28u);  // 36 + 28 * 29 = 848; seven more would be 1051
  EXPECT_EQ(ReadAll(dir_ / "journal").size(), flushed);
}

}  // namespace
}  // namespace starling::learner
