// A journal (learner/storage/journal.h): u16, then the file. It is read, and resumed after about
// that many bytes: as it is, then with valid checksums.
#include "learner/storage/journal.h"

#include <xxhash.h>

#include <fstream>

#include "core/check.h"
#include "core/file.h"
#include "tests/fuzz/files.h"
#include "tests/fuzz/fuzz.h"

namespace {

using namespace starling;
using namespace starling::learner;

constexpr std::size_t kHeaderBytes = 36;

void PutChecksum(std::string& file, std::size_t begin, std::size_t end) {
  const auto checksum = static_cast<std::uint32_t>(XXH3_64bits(file.data() + begin, end - begin));
  std::memcpy(file.data() + end, &checksum, sizeof checksum);
}

// A file without an end gets none: a torn tail stays one.
void Sign(std::string& file) {
  if (file.size() < kHeaderBytes) return;
  PutChecksum(file, 0, kHeaderBytes - 4);
  std::size_t at = kHeaderBytes;
  while (file.size() - at >= 9) {
    std::uint32_t length = 0;
    std::memcpy(&length, file.data() + at, sizeof length);
    if (length > file.size() - at - 9) return;
    PutChecksum(file, at + 4, at + 5 + length);
    at += 9 + length;
  }
}

// Reads to the end and writes the records again: the same bytes, as far as they are whole.
void ReadAndWriteAgain(const fuzz::Scratch& scratch, std::string_view file, JournalReader& reader) {
  JournalWriter writer(scratch / "again", reader.header());
  std::uint64_t offset = reader.offset();
  while (const auto record = reader.Next()) {
    CHECK(reader.offset() > offset && reader.offset() <= file.size());
    offset = reader.offset();
    CHECK(writer.Append(*record));
  }
  CHECK((reader.ending() == JournalReader::Ending::kEnd) == (offset == file.size()));
  CHECK(writer.Flush() && writer.complete() && writer.offset() == offset);
  CHECK(ReadFile(scratch / "again") == file.substr(0, offset));
}

// A learner that goes on from a checkpoint leaves a journal that is whole.
void GoOn(const fuzz::Scratch& scratch, std::string_view file, const JournalHeader& header,
          std::uint64_t cut_at) {
  const auto path = scratch / "continued";
  std::ofstream(path, std::ios::binary) << file;
  {
    JournalWriter writer(path, header, cut_at);
    CHECK(writer.complete() == (writer.offset() == cut_at));
    CHECK(writer.Append(HashRecord{.version = 1, .hash = 2}));
  }
  JournalReader reader(path);
  while (reader.Next()) continue;
  CHECK(reader.ending() == JournalReader::Ending::kEnd && reader.header() == header);
}

void Judge(std::string_view file, std::uint64_t cut_at) {
  static const fuzz::Scratch scratch;
  const fuzz::MemoryFile on_disk(file);
  try {
    JournalReader reader(on_disk.path());
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
