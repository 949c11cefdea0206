// A journal (learner/storage/journal.h): u16, then the file. It is read, and resumed after about
// that many bytes: as it is, then with valid checksums.

#include <xxhash.h>

#include <fstream>

#include "core/check.h"
#include "core/file.h"
#include "learner/storage/journal_reader.h"
#include "learner/storage/journal_writer.h"
#include "tests/fuzz/files.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace starling;
using namespace starling::learner;

void PutChecksum(std::string& file, std::size_t begin, std::size_t end) {
  const auto checksum = static_cast<std::uint32_t>(XXH3_64bits(file.data() + begin, end - begin));
  std::memcpy(file.data() + end, &checksum, sizeof checksum);
}

// A file without an end gets none: a torn tail stays one.
void Sign(std::string& file) {
  std::size_t at = file.size() > 8 && file[8] == 1 ? 36 : kMaxJournalHeader;
  if (file.size() < at) return;
  PutChecksum(file, 0, at - 4);
  while (file.size() - at >= 9) {
    std::uint32_t length = 0;
    std::memcpy(&length, file.data() + at, sizeof length);
    if (length > file.size() - at - 9) return;
    PutChecksum(file, at + 4, at + 5 + length);
    at += 9 + length;
  }
}

// Reads to the end and writes the records again: the same bytes, as far as they are whole.
void ReadAndWriteAgain(const fuzz::Scratch& scratch, std::string_view file, SegmentReader& reader) {
  JournalHeader header = reader.header();
  header.segment = 0, header.after = {};
  JournalWriter writer(scratch / "again", header);
  const std::uint64_t first = reader.offset(), first_again = writer.position().offset;
  std::uint64_t offset = first;
  while (const auto record = reader.Next()) {
    CHECK(reader.offset() > offset && reader.offset() <= file.size());
    offset = reader.offset();
    CHECK(writer.Append(*record));
  }
  CHECK((reader.ending() == JournalEnding::kEnd) == (offset == file.size()));
  CHECK(writer.Flush() && writer.complete());
  CHECK(writer.position().offset - first_again == offset - first);
  const std::string again = ReadFile(scratch / "again" / SegmentName(header.term, 0));
  CHECK(std::string_view(again).substr(first_again) == file.substr(first, offset - first));
}

// A learner that goes on from a checkpoint leaves a journal that is whole.
void GoOn(const fuzz::Scratch& scratch, std::string_view file, JournalHeader header,
          std::uint64_t offset) {
  const auto journal = scratch / "continued";
  std::filesystem::remove_all(journal);
  std::filesystem::create_directory(journal);
  std::ofstream(journal / SegmentName(1, 0), std::ios::binary) << file;
  header.term = 2, header.segment = 0, header.after = {1, 0, offset};
  {
    JournalWriter writer(journal, header);
    CHECK(writer.Append(HashRecord{.version = 1, .hash = 2}));
  }
  JournalReader reader(journal);
  while (reader.Next()) continue;
  CHECK(reader.ending() == JournalEnding::kEnd && reader.position().term == 2);
}

void Judge(std::string_view file, std::uint64_t cut_at) {
  static const fuzz::Scratch scratch;
  const fuzz::MemoryFile on_disk(file);
  try {
    SegmentReader reader(on_disk.path());
    ReadAndWriteAgain(scratch, file, reader);
    GoOn(scratch, file, reader.header(), cut_at);
  } catch (const JournalUnreadable& refusal) {
    const std::string_view sentence = refusal.what();
    CHECK(sentence.starts_with(on_disk.path().string()), "{}", sentence);
  }
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const auto cut_at = input.Take<std::uint16_t>();
  std::string file(input.rest());
  Judge(file, cut_at);
  Sign(file);
  Judge(file, cut_at);
  return 0;
}
