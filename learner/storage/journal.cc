#include "learner/storage/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <system_error>
#include <type_traits>

#include "core/check.h"
#include "core/file.h"

namespace starling::learner {
namespace {

constexpr std::string_view kMagic = "STLJRNL\n";
constexpr std::size_t kHeaderSize = 8 + 4 + 4 + 8 + 8 + 4;
constexpr std::size_t kFrameSize = 4 + 1 + 4;  // length, kind, checksum
constexpr std::size_t kBufferSize = 64 * 1024;

static_assert(std::endian::native == std::endian::little, "fields are copied as they are");

std::uint32_t Checksum(std::string_view bytes) {
  return static_cast<std::uint32_t>(XXH3_64bits(bytes.data(), bytes.size()));
}

// One list of the fields of each record (Fields, below) serves both directions: Out appends them,
// In reads them.
class Out {
 public:
  explicit Out(std::string& bytes) : bytes_(bytes) {}

  template <class T>
  void operator()(const T& value) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  template <class T>
  void List(const std::vector<T>& items) {
    (*this)(static_cast<std::uint32_t>(items.size()));
    for (const T& item : items) Fields(*this, item);
  }

 private:
  std::string& bytes_;
};

class In {
 public:
  explicit In(std::string_view bytes) : bytes_(bytes) {}

  template <class T>
  void operator()(T& value) {
    static_assert(std::is_arithmetic_v<T> || std::is_enum_v<T>);
    if (bytes_.size() < sizeof value) {
      good_ = false;
      bytes_ = {};
      return;
    }
    std::memcpy(&value, bytes_.data(), sizeof value);
    bytes_.remove_prefix(sizeof value);
  }
  template <class T>
  void List(std::vector<T>& items) {
    std::uint32_t count = 0;
    (*this)(count);
    // An item has at least one byte, so a false count cannot make us allocate memory.
    if (count > bytes_.size()) good_ = false;
    for (std::uint32_t i = 0; i < count && good_; ++i) Fields(*this, items.emplace_back());
  }
  // Returns whether every field was present and no byte is left.
  bool Done() const { return good_ && bytes_.empty(); }

 private:
  std::string_view bytes_;
  bool good_ = true;
};

// The fields of `record` in the order of the file. `record` is const for Out.
template <class Io, class Record>
void Fields(Io& io, Record& record) {
  // This order is the file format: never reorder the fields of a record.
  using T = std::remove_const_t<Record>;
  if constexpr (std::is_same_v<T, TermRecord>) {
    io(record.term), io(record.version), io(record.steps);
  } else if constexpr (std::is_same_v<T, JoinRecord> || std::is_same_v<T, DeathRecord>) {
    io(record.slot), io(record.incarnation);
  } else if constexpr (std::is_same_v<T, GrantRecord>) {
    io(record.slot), io(record.number), io(record.version);
  } else if constexpr (std::is_same_v<T, ArrivalRecord>) {
    io(record.slot), io(record.incarnation), io(record.sequence), io(record.grant);
    io(record.base_version), io(record.samples), io(record.outcome), io(record.norm);
  } else if constexpr (std::is_same_v<T, LostRecord>) {
    io(record.slot), io(record.grant), io(record.why);
  } else if constexpr (std::is_same_v<T, UpdateRecord>) {
    io(record.version), io(record.steps), io(record.lr), io(record.scale), io(record.entropy);
    io.List(record.items);
  } else if constexpr (std::is_same_v<T, UpdateRecord::Item>) {
    io(record.slot), io(record.incarnation), io(record.sequence);
  } else if constexpr (std::is_same_v<T, EntropyRecord>) {
    io(record.entropy);
  } else {
    static_assert(std::is_same_v<T, HashRecord>);
    io(record.version), io(record.hash);
  }
}

// Returns the record of variant alternative `kind` from `payload`, or nullopt if it does not match.
template <std::size_t kAlternative = 0>
std::optional<JournalRecord> Decode(std::size_t kind, std::string_view payload) {
  if constexpr (kAlternative == std::variant_size_v<JournalRecord>) {
    return std::nullopt;
  } else {
    if (kind != kAlternative) return Decode<kAlternative + 1>(kind, payload);
    std::variant_alternative_t<kAlternative, JournalRecord> record;
    In in(payload);
    Fields(in, record);
    if (!in.Done()) return std::nullopt;
    if constexpr (std::is_same_v<decltype(record), LostRecord>) {
      if (record.why != LostWhy::kDeath && record.why != LostWhy::kDeadline) return std::nullopt;
    }
    return record;
  }
}

std::string EncodeHeader(const JournalHeader& header) {
  std::string bytes(kMagic);
  Out out(bytes);
  out(kJournalFormat), out(std::uint32_t{0}), out(header.seed), out(header.fingerprint);
  out(Checksum(bytes));
  return bytes;
}

[[noreturn]] void Throw(int error, const char* what, const std::string& path) {
  throw std::system_error(error, std::generic_category(), fmt::format("cannot {} {}", what, path));
}

}  // namespace

JournalWriter::JournalWriter(const std::filesystem::path& path, const JournalHeader& header,
                             std::optional<std::uint64_t> cut_at)
    : path_(path.string()) {
  // 1. How much of an existing journal to keep.
  std::uint64_t keep = 0;
  if (cut_at) keep = WholeUpTo(header, *cut_at);
  // 2. Cut the rest off; every later write follows the last kept record.
  file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | (keep == 0 ? O_TRUNC : 0), 0644);
  if (file_ < 0) Throw(errno, "open", path_);
  const auto end = static_cast<off_t>(keep);
  if (keep > 0 && (::ftruncate(file_, end) != 0 || ::lseek(file_, end, SEEK_SET) < 0)) {
    const int error = errno;
    ::close(file_);
    Throw(error, "cut", path_);
  }
  // 3. A new file begins with its header.
  written_ = keep;
  if (keep == 0) {
    buffer_ = EncodeHeader(header);
    Flush();  // error() keeps a failure
  }
}

JournalWriter::~JournalWriter() {
  Flush();
  ::close(file_);
}

// Returns how many bytes of the journal at path_ to keep: cut_at, or less if the file is not whole
// up to that byte.
std::uint64_t JournalWriter::WholeUpTo(const JournalHeader& header, std::uint64_t cut_at) {
  if (!std::filesystem::exists(path_)) {
    SetIncomplete(fmt::format("{} is missing: a new journal begins", path_));
    return 0;
  }
  std::optional<JournalReader> reader;
  try {
    reader.emplace(path_);
  } catch (const JournalUnreadable& unreadable) {
    SetIncomplete(fmt::format("{}: a new journal begins", unreadable.what()));
    return 0;
  }
  if (reader->header() != header) {
    throw std::runtime_error(fmt::format(
        "{} is the journal of another run (seed {}, fingerprint {:016x}; this run has seed {}, "
        "fingerprint {:016x})",
        path_, reader->header().seed, reader->header().fingerprint, header.seed,
        header.fingerprint));
  }
  std::uint64_t whole = reader->offset();
  while (whole < cut_at && reader->Next() && reader->offset() <= cut_at) whole = reader->offset();
  if (whole != cut_at) {
    SetIncomplete(fmt::format("{} is whole up to byte {} only, the checkpoint is at byte {}", path_,
                              whole, cut_at));
  }
  return whole;
}

void JournalWriter::SetIncomplete(std::string error) {
  complete_ = false;
  if (error_.empty()) error_ = std::move(error);
}

bool JournalWriter::Append(const JournalRecord& record) {
  if (broken_) return true;
  const std::size_t start = buffer_.size();
  Out out(buffer_);
  out(std::uint32_t{0});  // the length, known below
  out(static_cast<std::uint8_t>(record.index() + 1));
  std::visit([&](const auto& fields) { Fields(out, fields); }, record);
  const std::size_t payload = buffer_.size() - start - 5;
  CHECK(payload <= kMaxJournalPayload, "a journal record of {} bytes", payload);
  const auto length = static_cast<std::uint32_t>(payload);
  std::memcpy(buffer_.data() + start, &length, sizeof length);
  out(Checksum(std::string_view(buffer_).substr(start + 4)));
  return buffer_.size() < kBufferSize || Flush();
}

bool JournalWriter::Flush() {
  if (broken_) return true;
  std::string_view rest = buffer_;
  while (!rest.empty()) {
    const ssize_t wrote = ::write(file_, rest.data(), rest.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return Fail("write", errno);
    rest.remove_prefix(static_cast<std::size_t>(wrote));
  }
  written_ += buffer_.size();
  buffer_.clear();
  return true;
}

bool JournalWriter::Sync() {
  if (!Flush()) return false;
  if (broken_) return true;
  // EINVAL: the file cannot be synced (a pipe, /dev/null), which is not an error of the run.
  if (::fsync(file_) != 0 && errno != EINVAL) return Fail("sync", errno);
  return true;
}

bool JournalWriter::Fail(const char* what, int error) {
  broken_ = true;
  // Best effort: cut off the written part of the buffer, so that the file ends with a whole record.
  // A reader stops at a torn tail anyway.
  [[maybe_unused]] const int cut = ::ftruncate(file_, static_cast<off_t>(written_));
  buffer_.clear();
  SetIncomplete(fmt::format("cannot {} {}: {}; the journal ends at byte {}", what, path_,
                            std::generic_category().message(error), written_));
  return false;
}

JournalReader::JournalReader(const std::filesystem::path& path) : bytes_(ReadFile(path)) {
  const auto refuse = [&](std::string_view why) {
    throw JournalUnreadable(fmt::format("{} {}", path.string(), why));
  };
  const std::string_view bytes = bytes_;
  if (bytes.size() < kHeaderSize || !bytes.starts_with(kMagic)) refuse("is not a journal");
  In in(bytes.substr(kMagic.size(), kHeaderSize - kMagic.size()));
  std::uint32_t format = 0, zero = 0, checksum = 0;
  in(format), in(zero), in(header_.seed), in(header_.fingerprint), in(checksum);
  if (zero != 0 || checksum != Checksum(bytes.substr(0, kHeaderSize - sizeof checksum))) {
    refuse("has a damaged header");
  }
  if (format != kJournalFormat) {
    refuse(fmt::format("has journal format {}; this program reads {}", format, kJournalFormat));
  }
  offset_ = kHeaderSize;
}

std::optional<JournalRecord> JournalReader::Next() {
  const std::string_view rest = std::string_view(bytes_).substr(offset_);
  const auto end = [&](Ending ending) {
    ending_ = ending;
    return std::nullopt;
  };
  // 1. The frame: complete, and of a possible length.
  if (rest.empty()) return end(Ending::kEnd);
  std::uint32_t length = 0, checksum = 0;
  if (rest.size() < sizeof length) return end(Ending::kTorn);
  std::memcpy(&length, rest.data(), sizeof length);
  if (length > kMaxJournalPayload) return end(Ending::kDamaged);
  if (rest.size() < kFrameSize + length) return end(Ending::kTorn);

  // 2. The content: checked before it is decoded.
  const std::string_view body = rest.substr(sizeof length, 1 + length);
  std::memcpy(&checksum, rest.data() + sizeof length + body.size(), sizeof checksum);
  if (checksum != Checksum(body)) return end(Ending::kDamaged);
  const std::size_t kind = static_cast<std::uint8_t>(body[0]);
  std::optional<JournalRecord> record = Decode(kind - 1, body.substr(1));
  if (!record) return end(Ending::kDamaged);
  offset_ += kFrameSize + length;
  return record;
}

}  // namespace starling::learner
