// The journal: everything an exact replay of a run needs, in order. Binary and append-only; writers
// and readers share this header.
//
// RUN/journal is a directory of segments, "t0002-s000003": segment 3 of term 2. A learner writes
// only segments of its own term, which no other learner has. The first segment of a term names the
// position at which the run goes on: its checkpoint's. What earlier terms wrote behind that is not
// part of the run (learner/storage/journal_segments.h follows this line).
//
// Segment (little-endian): magic "STLJRNL\n", u32 format version, u32 zero, u64 run seed,
//                          u64 fingerprint of the net, u32 term, u32 segment,
//                          u32 term, u32 segment, u64 offset of the position before it (offset 0:
//                          none, the run begins here), u32 checksum of the above
// then records:            u32 payload length, u8 kind, payload, u32 checksum of kind and payload
// The payload holds the fields in the order of the structs below, with fixed width; a double as its
// bits, a list as u32 count and items. A checksum is the low half of XXH3.
//
// Programs before format 2 wrote one file RUN/journal of format 1: no terms and no position in its
// header. It is read as segment 0 of term 0, and gets that name when its run is resumed.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace starling::learner {

inline constexpr std::uint32_t kJournalFormat = 2;
inline constexpr std::uint32_t kMaxJournalPayload = 32 << 20;  // bytes: 2 million gradients

// A place between two records. Positions of one run's line are in order.
struct JournalPosition {
  std::uint32_t term = 0, segment = 0;
  std::uint64_t offset = 0;  // bytes of that segment; 0: nowhere
  friend auto operator<=>(const JournalPosition&, const JournalPosition&) = default;
};

struct JournalHeader {
  std::uint64_t seed = 0;
  std::uint64_t fingerprint = 0;
  std::uint32_t term = 0, segment = 0;
  JournalPosition after{};  // the end of the segment before it, in the line of the run
  friend bool operator==(const JournalHeader&, const JournalHeader&) = default;
};

// A learner started at this version, or its journal goes on there behind a gap.
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

// Follows the join of an actor whose life is not its incarnation, or who has a state to go on from
// (learner/lives.h).
struct LifeRecord {
  std::uint32_t slot = 0, incarnation = 0, life = 0;
  std::uint8_t restored = 0;  // 1: it goes on from the state of its slot where its term begins
  friend bool operator==(const LifeRecord&, const LifeRecord&) = default;
};

// A write failed (a full disk): records are missing, up to the next TermRecord. Written where the
// failed one began, as far as there is room: a record without fields needs a few bytes.
struct GapRecord {
  friend bool operator==(const GapRecord&, const GapRecord&) = default;
};

// Before the arrival of the same sequence where gradients are computed on other weights than those
// that played their unroll (updates.epochs).
struct UseRecord {
  std::uint32_t slot = 0, incarnation = 0;
  std::uint64_t sequence = 0;
  std::uint64_t use = 0;     // its place among the gradients of its unroll
  std::uint64_t played = 0;  // version of the weights that played it
  friend bool operator==(const UseRecord&, const UseRecord&) = default;
};

// A record's kind in the file is its index here plus one: append only, never reorder.
using JournalRecord =
    std::variant<TermRecord, JoinRecord, GrantRecord, ArrivalRecord, LostRecord, DeathRecord,
                 UpdateRecord, HashRecord, EntropyRecord, LifeRecord, GapRecord, UseRecord>;

// ---- bytes

// Returns the bytes of a header of kJournalFormat.
std::string EncodeHeader(const JournalHeader& header);
inline constexpr std::size_t kMaxJournalHeader = 60;  // bytes

struct DecodedHeader {
  JournalHeader header;
  std::size_t size = 0;  // bytes
  std::string error{};   // how a sentence about the file goes on, "is not a journal"; "": none
};
// `bytes`: the beginning of a segment, kMaxJournalHeader or all that there are.
DecodedHeader DecodeHeader(std::string_view bytes);

// Appends the frame of `record` to `bytes`. Returns false, and appends nothing, if its payload
// would be longer than kMaxJournalPayload.
bool AppendRecord(std::string& bytes, const JournalRecord& record);

inline constexpr std::size_t kJournalFrame = 4 + 1 + 4;  // bytes: length, kind, checksum
// Whether `begin`, the beginning of a frame, can be that of a record that was written: its kind
// fixes its length, or a list in it does. As far as it goes; always true below 5 bytes.
bool MayBeRecord(std::string_view begin);
// Returns the payload's length from the first four bytes of a frame.
std::uint32_t PayloadOf(std::string_view frame);
// Returns the record of a whole frame, or nullopt if it is damaged.
std::optional<JournalRecord> DecodeRecord(std::string_view frame);

}  // namespace starling::learner
