// Records of every kind, and a journal in a temporary directory.
#pragma once

#include <gtest/gtest.h>
#include <xxhash.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "learner/storage/journal_reader.h"
#include "learner/storage/journal_writer.h"
#include "tests/support/temp_dir.h"

namespace starling::learner {

inline constexpr JournalHeader kHeader{.seed = 7, .fingerprint = 0x1234567890abcdef, .term = 1};
inline constexpr std::uint64_t kHeaderBytes = 60;

// Returns a record of each kind, with values in every byte of every field.
inline std::vector<JournalRecord> OneOfEach() {
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
      LifeRecord{.slot = 2, .incarnation = 65537, .life = 65536, .restored = 1},
      GapRecord{},
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

// With the checksum that another program would write.
inline void PutChecksum(std::string& bytes, std::size_t begin, std::size_t end) {
  const auto checksum = static_cast<std::uint32_t>(XXH3_64bits(bytes.data() + begin, end - begin));
  std::memcpy(bytes.data() + end, &checksum, sizeof checksum);
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

}  // namespace starling::learner
