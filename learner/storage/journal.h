// The journal: everything an exact replay of a run needs, in order. Binary and append-only; writer
// and reader share this header.
//
// File (little-endian):   magic "STLJRNL\n", u32 format version, u32 zero, u64 run seed,
//                         u64 fingerprint of the net, u32 checksum of the above
// then records:           u32 payload length, u8 kind, payload, u32 checksum of kind and payload
// The payload holds the fields in the order of the structs below, with fixed width; a double as its
// bits, a list as u32 count and items. A checksum is the low half of XXH3.
//
// Thread safety: none; the network thread owns the writer.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace starling::learner {

inline constexpr std::uint32_t kJournalFormat = 1;
inline constexpr std::uint32_t kMaxJournalPayload = 1 << 20;  // bytes

struct JournalHeader {
  std::uint64_t seed = 0;
  std::uint64_t fingerprint = 0;
  friend bool operator==(const JournalHeader&, const JournalHeader&) = default;
};

// A learner started at this version.
struct TermRecord {
  std::uint32_t term = 0;
  std::uint64_t version = 0;
  std::uint64_t steps = 0;
  friend bool operator==(const TermRecord&, const TermRecord&) = default;
};
struct JoinRecord {
  std::uint32_t slot = 0, incarnation = 0;
  friend bool operator==(const JoinRecord&, const JoinRecord&) = default;
};
struct GrantRecord {
  std::uint32_t slot = 0;
  std::uint64_t number = 0, version = 0;
  friend bool operator==(const GrantRecord&, const GrantRecord&) = default;
};
struct ArrivalRecord {
  std::uint32_t slot = 0, incarnation = 0;
  std::uint64_t sequence = 0, grant = 0, base_version = 0;
  std::uint32_t samples = 0;
  std::uint8_t outcome = 0;  // 0: held; else the refusal, a wire::Outcome
  double norm = 0;           // global L2 norm before clipping, reported by the actor
  friend bool operator==(const ArrivalRecord&, const ArrivalRecord&) = default;
};
enum class LostWhy : std::uint8_t { kDeath = 1, kDeadline = 2 };
// A grant ended without a gradient.
struct LostRecord {
  std::uint32_t slot = 0;
  std::uint64_t grant = 0;
  LostWhy why = LostWhy::kDeath;
  friend bool operator==(const LostRecord&, const LostRecord&) = default;
};
struct DeathRecord {
  std::uint32_t slot = 0, incarnation = 0;
  friend bool operator==(const DeathRecord&, const DeathRecord&) = default;
};
struct UpdateRecord {
  struct Item {
    std::uint32_t slot = 0, incarnation = 0;
    std::uint64_t sequence = 0;
    friend bool operator==(const Item&, const Item&) = default;
  };
  std::uint64_t version = 0;  // produced by it
  std::uint64_t steps = 0;    // samples applied, including it
  double lr = 0, scale = 0, entropy = 0;
  std::vector<Item> items{};  // its gradients, in the order of the sum
  friend bool operator==(const UpdateRecord&, const UpdateRecord&) = default;
};
// The hash of the weights of a version: HashWeights in learner/apply/applier.h.
struct HashRecord {
  std::uint64_t version = 0, hash = 0;
  friend bool operator==(const HashRecord&, const HashRecord&) = default;
};

// The entropy coefficient of the first weights of a term. Update records hold all later ones.
struct EntropyRecord {
  double entropy = 0;
  friend bool operator==(const EntropyRecord&, const EntropyRecord&) = default;
};

// A record's kind in the file is its index here plus one: append only, never reorder.
using JournalRecord = std::variant<TermRecord, JoinRecord, GrantRecord, ArrivalRecord, LostRecord,
                                   DeathRecord, UpdateRecord, HashRecord, EntropyRecord>;

class JournalWriter {
 public:
  // Without `cut_at`: creates the file, or replaces it. With `cut_at` (a checkpoint's
  // journal_offset): cuts the existing journal there and continues it. If the journal is missing,
  // shorter, or damaged before that byte, it is cut after its last whole record, or replaced, and
  // complete() is false. Throws std::system_error if the file cannot be opened or cut, and
  // std::runtime_error if it belongs to another run (seed or fingerprint).
  JournalWriter(const std::filesystem::path& path, const JournalHeader& header,
                std::optional<std::uint64_t> cut_at = std::nullopt);
  ~JournalWriter();  // flushes
  JournalWriter(const JournalWriter&) = delete;
  JournalWriter& operator=(const JournalWriter&) = delete;

  // Append copies into a buffer and writes it when it is full; Flush writes it; Sync also waits for
  // the disk. After the first failed write (a full disk) the file is cut after its last whole
  // record, every later record is discarded, and complete() is false. Only the call that met the
  // failure returns false.
  bool Append(const JournalRecord& record);
  bool Flush();
  bool Sync();

  // Returns the size of the file once the buffer is written. A checkpoint stores it as its
  // journal_offset.
  std::uint64_t offset() const { return written_ + buffer_.size(); }
  bool complete() const { return complete_; }
  // Returns why it is not complete, as a sentence; "" while it is.
  const std::string& error() const { return error_; }

 private:
  std::uint64_t WholeUpTo(const JournalHeader& header, std::uint64_t cut_at);
  void SetIncomplete(std::string error);
  bool Fail(const char* what, int error);

  std::string path_;
  int file_ = -1;
  std::string buffer_;         // whole records only
  std::uint64_t written_ = 0;  // bytes in the file
  bool complete_ = true;
  bool broken_ = false;  // a write failed: records are discarded
  std::string error_;
};

// The file is not a journal, has another format version, or has a damaged header.
class JournalUnreadable : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

class JournalReader {
 public:
  // Throws std::system_error if the file cannot be read, and JournalUnreadable with a sentence that
  // names the file.
  explicit JournalReader(const std::filesystem::path& path);

  const JournalHeader& header() const { return header_; }

  // Returns the next record, or nullopt at the end, at a torn tail and at damage.
  std::optional<JournalRecord> Next();

  // Returns the byte after the last record returned; before the first, the byte after the header.
  std::uint64_t offset() const { return offset_; }
  // Returns why Next returned nullopt: kEnd (all read), kTorn (the file ends inside a record: its
  // writer was killed), kDamaged (a whole record with a wrong checksum, kind or field).
  enum class Ending : std::uint8_t { kEnd, kTorn, kDamaged };
  Ending ending() const { return ending_; }

 private:
  std::string bytes_;
  JournalHeader header_;
  std::uint64_t offset_ = 0;
  Ending ending_ = Ending::kEnd;
};

}  // namespace starling::learner
