// The journal: everything an exact replay of a run needs, in the order in which it happened.
// Binary, append-only, one header for writer and reader.
//
// File (little-endian):   magic "STLJRNL\n", u32 format version, u32 zero, u64 run seed,
//                         u64 fingerprint of the net, u32 checksum of the above
// then records:           u32 payload length, u8 kind, payload, u32 checksum of kind and payload
// Fields in the order of the structs below, fixed width; doubles as their bits; lists as u32 count
// and items. A checksum is the low half of XXH3.
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

struct TermRecord {  // a learner started at this version
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
  std::uint8_t outcome = 0;  // 0 held, else the refusal: wire::Outcome
  double norm = 0;           // global L2 norm, as its actor reported it before clipping
  friend bool operator==(const ArrivalRecord&, const ArrivalRecord&) = default;
};
enum class LostWhy : std::uint8_t { kDeath = 1, kDeadline = 2 };
struct LostRecord {  // a grant that ended without a gradient
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
  std::uint64_t version = 0;  // that it produced
  std::uint64_t steps = 0;    // after it
  double lr = 0, scale = 0, entropy = 0;
  std::vector<Item> items{};  // in the order of summation
  friend bool operator==(const UpdateRecord&, const UpdateRecord&) = default;
};
struct HashRecord {  // of the weights, learner/apply/lanes.h HashWeights
  std::uint64_t version = 0, hash = 0;
  friend bool operator==(const HashRecord&, const HashRecord&) = default;
};

struct
    EntropyRecord {  // of the weights that the last term began with; what comes later is in updates
  double entropy = 0;
  friend bool operator==(const EntropyRecord&, const EntropyRecord&) = default;
};

// The kind in the file is the index here plus one: append only, never reorder.
using JournalRecord = std::variant<TermRecord, JoinRecord, GrantRecord, ArrivalRecord, LostRecord,
                                   DeathRecord, UpdateRecord, HashRecord, EntropyRecord>;

class JournalWriter {
 public:
  // Without `cut_at` a new file (an old one is replaced). With it the existing journal is cut there
  // (a checkpoint's journal_offset; everything after it never happened) and continued; a journal
  // that is shorter, damaged before that point or gone is cut where it is still whole, or begun
  // anew, and complete() is false. Throws std::system_error if the file cannot be opened or cut,
  // std::runtime_error if it belongs to another run (seed or fingerprint).
  JournalWriter(const std::filesystem::path& path, const JournalHeader& header,
                std::optional<std::uint64_t> cut_at = std::nullopt);
  ~JournalWriter();  // flushes
  JournalWriter(const JournalWriter&) = delete;
  JournalWriter& operator=(const JournalWriter&) = delete;

  // Append copies into a buffer that is written when it is full; Flush writes it; Sync also waits
  // for the disk. False exactly once, from the call that met the first failed write (a full disk):
  // the file is cut after its last whole record, everything later is discarded, complete() is
  // false.
  bool Append(const JournalRecord& record);
  bool Flush();
  bool Sync();

  // Bytes in the file once everything so far is flushed: what a checkpoint notes.
  std::uint64_t offset() const { return written_ + buffer_.size(); }
  bool complete() const { return complete_; }
  // Why it is not complete: a sentence; empty while it is.
  const std::string& trouble() const { return trouble_; }

 private:
  std::uint64_t WholeUpTo(const JournalHeader& header, std::uint64_t cut_at);
  void NoteGap(std::string trouble);
  bool Fail(const char* what, int error);

  std::string path_;
  int file_ = -1;
  std::string buffer_;         // whole records only
  std::uint64_t written_ = 0;  // bytes in the file
  bool complete_ = true;
  bool broken_ = false;  // a write failed: nothing is written any more
  std::string trouble_;
};

// The file is no journal, of another format version, or its header is damaged.
class JournalUnreadable : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

class JournalReader {
 public:
  // Throws std::system_error if it cannot be read, JournalUnreadable with a sentence naming it.
  explicit JournalReader(const std::filesystem::path& path);

  const JournalHeader& header() const { return header_; }

  // The next record; nothing at the end, at a torn tail and at damage.
  std::optional<JournalRecord> Next();

  // Byte after the last whole record returned (after the file's header before the first).
  std::uint64_t offset() const { return offset_; }
  // Once Next returned nothing: kEnd (all read), kTorn (the file ends inside a record: its writer
  // was killed), kDamaged (a whole record whose checksum, kind or fields are wrong).
  enum class Ending : std::uint8_t { kEnd, kTorn, kDamaged };
  Ending ending() const { return ending_; }

 private:
  std::string bytes_;
  JournalHeader header_;
  std::uint64_t offset_ = 0;
  Ending ending_ = Ending::kEnd;
};

}  // namespace starling::learner
