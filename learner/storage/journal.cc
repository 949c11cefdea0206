#include "learner/storage/journal.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <bit>
#include <cstring>
#include <type_traits>

namespace starling::learner {
namespace {

constexpr std::string_view kMagic = "STLJRNL\n";
constexpr std::size_t kOldHeader = 36;  // bytes of a header of format 1

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
  } else if constexpr (std::is_same_v<T, LifeRecord>) {
    io(record.slot), io(record.incarnation), io(record.life), io(record.restored);
  } else if constexpr (std::is_same_v<T, UseRecord>) {
    io(record.slot), io(record.incarnation), io(record.sequence), io(record.use), io(record.played);
  } else if constexpr (std::is_same_v<T, GapRecord>) {
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
    if constexpr (std::is_same_v<decltype(record), LifeRecord>) {
      if (record.restored > 1) return std::nullopt;
    }
    return record;
  }
}

// Returns the payload's length of alternative `kind` with empty lists, or nullopt.
template <std::size_t kAlternative = 0>
std::optional<std::size_t> ShortestPayload(std::size_t kind) {
  if constexpr (kAlternative == std::variant_size_v<JournalRecord>) {
    return std::nullopt;
  } else {
    if (kind != kAlternative) return ShortestPayload<kAlternative + 1>(kind);
    std::string bytes;
    Out out(bytes);
    const std::variant_alternative_t<kAlternative, JournalRecord> record{};
    Fields(out, record);
    return bytes.size();
  }
}

}  // namespace

bool MayBeRecord(std::string_view begin) {
  constexpr std::size_t kItem = 16;  // bytes of an UpdateRecord::Item
  if (begin.size() < 5) return true;
  const std::size_t payload = PayloadOf(begin);
  const auto kind = static_cast<std::size_t>(static_cast<unsigned char>(begin[4])) - 1;
  const auto shortest = ShortestPayload(kind);
  if (!shortest) return false;
  if (kind != JournalRecord(UpdateRecord{}).index()) return payload == *shortest;
  if (payload < *shortest || (payload - *shortest) % kItem != 0) return false;
  const std::size_t at = 5 + *shortest - 4;  // of the list's length, behind the other fields
  return begin.size() < at + 4 || PayloadOf(begin.substr(at)) * kItem == payload - *shortest;
}

std::string EncodeHeader(const JournalHeader& header) {
  std::string bytes(kMagic);
  Out out(bytes);
  out(kJournalFormat), out(std::uint32_t{0}), out(header.seed), out(header.fingerprint);
  out(header.term), out(header.segment);
  out(header.after.term), out(header.after.segment), out(header.after.offset);
  out(Checksum(bytes));
  return bytes;
}

DecodedHeader DecodeHeader(std::string_view bytes) {
  DecodedHeader decoded;
  JournalHeader& header = decoded.header;
  const auto fail = [](std::string error) {
    return DecodedHeader{.header = {}, .error = std::move(error)};
  };
  // 1. The format gives the length.
  if (bytes.size() < kOldHeader || !bytes.starts_with(kMagic)) return fail("is not a journal");
  std::uint32_t format = 0, zero = 0, checksum = 0;
  std::memcpy(&format, bytes.data() + kMagic.size(), sizeof format);
  if (format != 1 && format != kJournalFormat) {
    return fail(
        fmt::format("has journal format {}; this program reads 1 and {}", format, kJournalFormat));
  }
  decoded.size = format == 1 ? kOldHeader : kMaxJournalHeader;
  // 2. The checksum covers all before it.
  if (bytes.size() < decoded.size) return fail("is not a journal");
  const std::string_view checked = bytes.substr(0, decoded.size - sizeof checksum);
  std::memcpy(&checksum, bytes.data() + checked.size(), sizeof checksum);
  if (checksum != Checksum(checked)) return fail("has a damaged header");
  // 3. The fields.
  In in(checked.substr(kMagic.size()));
  in(format), in(zero), in(header.seed), in(header.fingerprint);
  if (format > 1) {
    in(header.term), in(header.segment);
    in(header.after.term), in(header.after.segment), in(header.after.offset);
  }
  return zero == 0 ? decoded : fail("has a damaged header");
}

bool AppendRecord(std::string& bytes, const JournalRecord& record) {
  const std::size_t start = bytes.size();
  Out out(bytes);
  out(std::uint32_t{0});  // the length, known below
  out(static_cast<std::uint8_t>(record.index() + 1));
  std::visit([&](const auto& fields) { Fields(out, fields); }, record);
  const std::size_t payload = bytes.size() - start - 5;
  if (payload > kMaxJournalPayload) {
    bytes.resize(start);
    return false;
  }
  const auto length = static_cast<std::uint32_t>(payload);
  std::memcpy(bytes.data() + start, &length, sizeof length);
  out(Checksum(std::string_view(bytes).substr(start + sizeof length)));
  return true;
}

std::uint32_t PayloadOf(std::string_view frame) {
  std::uint32_t length = 0;
  std::memcpy(&length, frame.data(), sizeof length);
  return length;
}

std::optional<JournalRecord> DecodeRecord(std::string_view frame) {
  const std::string_view body = frame.substr(4, frame.size() - 8);
  std::uint32_t checksum = 0;
  std::memcpy(&checksum, frame.data() + frame.size() - sizeof checksum, sizeof checksum);
  if (checksum != Checksum(body)) return std::nullopt;
  const std::size_t kind = static_cast<std::uint8_t>(body[0]);
  return Decode(kind - 1, body.substr(1));
}

}  // namespace starling::learner
