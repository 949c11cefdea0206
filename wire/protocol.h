// Everything the processes say to each other: the header and the body of each message, as plain
// structs. wire/codec.h turns them into frames and back; the byte table is in wire/README.md.
//
// A message is three frames: the 64-byte header, a MessagePack map with the body's small fields,
// and the raw tensor (an empty frame if there is none).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

namespace starling::wire {

inline constexpr std::uint32_t kProtocolMagic = 0x4C525453;  // the bytes 'S' 'T' 'R' 'L'
inline constexpr std::uint16_t kProtocolVersion = 5;
inline constexpr std::size_t kHeaderBytes = 64;
inline constexpr std::size_t kMessageFrames = 3;

// Limits of one message. The receiver refuses what exceeds them, the sender CHECKs. What bounds the
// tensor is the net: the receiver passes its own number of elements to Decode.
inline constexpr std::size_t kMaxFieldsBytes = 320 * 1024;
inline constexpr std::size_t kMaxEpisodes = 16'384;        // in one gradient; 18 bytes each at most
inline constexpr std::size_t kMaxGrants = 256;             // in one answer
inline constexpr std::size_t kMaxConfigBytes = 64 * 1024;  // Welcome::config
inline constexpr std::size_t kMaxTextBytes = 1024;         // every other string
inline constexpr std::size_t kMaxShardsNamed = 7;          // in a welcome, beside the first
inline constexpr std::size_t kMaxVerdictItems = 8192;      // gradients in one update; 29 bytes each
inline constexpr std::size_t kMaxMapEntries = 64;          // known and unknown keys of one body
inline constexpr std::size_t kMaxFieldsDepth = 8;

enum class Kind : std::uint8_t {
  kHello = 1,  // actor to learner: I am here
  kWelcome,    // answer: the run's config and where the weights are
  kGradient,   // actor to learner
  kAnswer,     // answer to a gradient, or the first grants of a joiner
  kHeartbeat,  // either way
  kFetch,      // actor to learner: send me weights
  kWeights,    // answer
  kBye,        // either way: this is the last message
  // Where the learner is several processes (docs/shards.md):
  kGradientSlice,  // actor to shard: its part of a gradient
  kShardHello,     // shard to learner: I am here
  kShardWelcome,   // answer: what to begin with
  kShardReady,     // shard to learner: where actors find it
  kSliceHeld,      // shard to learner: a slice has come
  kForget,         // learner to shard: it will not be applied
  kVerdict,        // learner to shard: apply these
  kShardApplied,   // shard to learner: a version is done
  kShardSaved,     // shard to learner: its part of a checkpoint is written, or could not be
  kReloadKeys,     // learner to shard: read the list of keys again
};

enum class ElementType : std::uint8_t { kNone = 0, kF32 = 1 };

// What travels in the first frame. Encode fills in kind, element_type and count from the body and
// the tensor; magic, protocol and checksum are the codec's own business.
struct Header {
  Kind kind = Kind::kHeartbeat;
  ElementType element_type = ElementType::kNone;
  std::uint32_t slot = 0;  // of the actor, whichever way the message goes (0 before a welcome)
  std::uint32_t incarnation = 0;  // of the actor in that slot
  std::uint64_t sequence = 0;     // the sender counts its messages from 1
  std::uint32_t term = 0;         // of the learner
  // Of the learner, drawn anew with every start: runs that follow each other on an endpoint have the same
  // slots, incarnations and terms. Everybody repeats what the welcome said; 0 before that.
  std::uint32_t session = 0;
  std::uint64_t version = 0;  // gradient: its base; weights: theirs; answer, welcome: the newest
  std::uint64_t count = 0;    // elements of the tensor
  std::uint64_t fingerprint = 0;  // of the parameter layout

  friend bool operator==(const Header&, const Header&) = default;
};

struct Hello {
  std::int64_t slot = -1;  // the slot asked for; -1: any
  std::string host{};
  std::uint32_t pid = 0;

  friend bool operator==(const Hello&, const Hello&) = default;
};

// Where an actor finds a shard. A tcp endpoint names the host as the shard itself sees it.
struct ShardPlace {
  std::string endpoint{};
  std::string snapshot{};  // path of the shared-memory file; empty: fetch

  friend bool operator==(const ShardPlace&, const ShardPlace&) = default;
};

// Slot, incarnation, term, version and fingerprint are in the header.
struct Welcome {
  std::string config{};    // the whole effective configuration, TOML
  std::string snapshot{};  // path of the shared-memory file; empty: fetch
  std::string beacon{};    // endpoint of the version beacon; empty: none
  std::string buffers{};   // path of the actor's gradient buffers; empty: gradients bring a tensor
  // The other processes of a learner cut into shards; slice 0 is that of whom the welcome is from.
  std::vector<ShardPlace> shards{};

  friend bool operator==(const Welcome&, const Welcome&) = default;
};

struct Episode {
  double episode_return = 0;
  std::uint64_t length = 0;

  friend bool operator==(const Episode&, const Episode&) = default;
};

// Its base version and term are in the header. The numbers are whatever the peer computed: a
// receiver that averages them checks that they are finite.
struct Gradient {
  std::uint64_t grant = 0;  // number of the grant it spends
  std::uint32_t buffer =
      0;  // its values: 0: the tensor, k > 0: buffer k - 1 of those of the welcome
  std::uint32_t samples = 0;
  double norm = 0;  // global L2 norm before clipping
  double policy_loss = 0, value_loss = 0, entropy = 0;
  // Where its actor's time went: for a grant, for weights, env steps, backward, sending the gradient
  // before this one.
  std::uint32_t wait_us = 0, refresh_us = 0, act_us = 0, gradient_us = 0, push_us = 0;
  std::vector<Episode> episodes{};  // ended since the last gradient, at most kMaxEpisodes
  // Since the last gradient: episodes cut because the process of their env was replaced (they are not
  // among the others), and such processes.
  std::uint32_t episodes_cut = 0, envs_replaced = 0;

  friend bool operator==(const Gradient&, const Gradient&) = default;
};

// What became of a gradient. Everything after kMerged is a refusal.
enum class Outcome : std::uint8_t {
  kNone = 0,  // it answers no gradient
  kApplied,   // alone
  kMerged,    // in one update with others
  kStale,
  kNoGrant,
  kDuplicate,
  kFutureVersion,
  kBelowGrant,
  kOtherTerm,
  kOldIncarnation,
  kNotFinite,
  kNormTooLarge,
  kBadSamples,
  kUnknownActor,
  kNoBuffer,  // it names a buffer that is not its sender's to push
};
inline constexpr std::size_t kOutcomes = 15;
// "applied", "no_grant", ...: the names in summary.json.
const char* OutcomeName(Outcome outcome);

// Allows an actor to compute one gradient.
struct Grant {
  std::uint64_t number = 0;   // its name; a gradient spends it once
  std::uint64_t version = 0;  // the weights must be at least this new

  friend bool operator==(const Grant&, const Grant&) = default;
};

// To one gradient, with what its actor may do next; or, to nothing, only the latter.
struct Answer {
  std::uint64_t answers = 0;  // sequence of the gradient answered; 0: none
  Outcome outcome = Outcome::kNone;
  std::uint64_t staleness = 0;
  std::vector<Grant> grants{};

  friend bool operator==(const Answer&, const Answer&) = default;
};

struct Heartbeat {
  friend bool operator==(const Heartbeat&, const Heartbeat&) = default;
};

struct Fetch {
  std::uint64_t version = 0;  // at least

  friend bool operator==(const Fetch&, const Fetch&) = default;
};

// The version is in the header.
struct Weights {
  std::uint64_t steps = 0;  // samples applied so far
  double entropy = 0;       // coefficient of the schedule at these steps

  friend bool operator==(const Weights&, const Weights&) = default;
};

enum class ByeReason : std::uint8_t {
  kRunOver = 0,   // learner: all steps are done
  kShuttingDown,  // learner: interrupted
  kRefused,       // learner: not with this fingerprint, protocol or slot; `text` says why
  kLeaving,       // this incarnation only: the actor goes, or is to come back as a new one
};
inline constexpr std::size_t kByeReasons = 4;
const char* ByeReasonName(ByeReason reason);

struct Bye {
  ByeReason reason = ByeReason::kLeaving;
  std::string text{};  // one sentence for people

  friend bool operator==(const Bye&, const Bye&) = default;
};

// The tensor is the shard's slice of the gradient that its sender pushes with the message of this number;
// slot, incarnation, term and base version as there.
struct GradientSlice {
  std::uint64_t gradient = 0;

  friend bool operator==(const GradientSlice&, const GradientSlice&) = default;
};

struct ShardHello {
  std::uint32_t shard = 0;  // from 1
  std::uint32_t pid = 0;

  friend bool operator==(const ShardHello&, const ShardHello&) = default;
};

// Term and version are in the header.
struct ShardWelcome {
  std::string checkpoint{};  // to begin with, relative to the run directory
  std::string endpoint{};    // to listen on
  std::string snapshot{};    // shared-memory file to make; empty: none
  std::string local_key{};   // public key of the actors of this host; empty: no keys are asked for

  friend bool operator==(const ShardWelcome&, const ShardWelcome&) = default;
};

struct ShardReady {
  ShardPlace place{};

  friend bool operator==(const ShardReady&, const ShardReady&) = default;
};

// Slot and incarnation of the gradient are in the header, as its sender wrote them.
struct SliceHeld {
  std::uint64_t gradient = 0;
  double norm = 0;    // L2; not finite where the slice is not
  std::string key{};  // that its sender showed; empty where none is asked for

  friend bool operator==(const SliceHeld&, const SliceHeld&) = default;
};

// Slot and incarnation of the gradient's sender are in the header.
struct Forget {
  std::uint64_t gradient = 0;

  friend bool operator==(const Forget&, const Forget&) = default;
};

// The update that makes the header's version.
struct Verdict {
  struct Item {  // in the order of summation
    std::uint32_t slot = 0, incarnation = 0;
    std::uint64_t gradient = 0;
    double weight = 1;

    friend bool operator==(const Item&, const Item&) = default;
  };
  std::vector<Item> items{};  // none: nothing to apply, only a checkpoint of the version there is
  double lr = 0, scale = 1;
  std::uint64_t optimizer_step = 0, steps = 0;
  double entropy = 0;
  std::uint32_t checkpoint = 0;  // 1: write your part of one of this version

  friend bool operator==(const Verdict&, const Verdict&) = default;
};

// The version is in the header.
struct ShardApplied {
  friend bool operator==(const ShardApplied&, const ShardApplied&) = default;
};

// The version is in the header.
struct ShardSaved {
  std::string error{};  // empty: it is written

  friend bool operator==(const ShardSaved&, const ShardSaved&) = default;
};

struct ReloadKeys {
  friend bool operator==(const ReloadKeys&, const ReloadKeys&) = default;
};

// In the order of Kind: index() + 1 is the kind.
using Body = std::variant<Hello, Welcome, Gradient, Answer, Heartbeat, Fetch, Weights, Bye,
                          GradientSlice, ShardHello, ShardWelcome, ShardReady, SliceHeld, Forget,
                          Verdict, ShardApplied, ShardSaved, ReloadKeys>;
inline constexpr std::size_t kKinds = std::variant_size_v<Body>;
const char* KindName(Kind kind);  // "hello", ...

inline Kind KindOf(const Body& body) { return static_cast<Kind>(body.index() + 1); }
// Weights and slices carry an f32 tensor, gradients too unless they are in a buffer; everything else none.
inline bool AlwaysHasTensor(Kind kind) {
  return kind == Kind::kWeights || kind == Kind::kGradientSlice;
}
inline bool MayHaveTensor(Kind kind) { return kind == Kind::kGradient || AlwaysHasTensor(kind); }
inline bool HasTensor(const Body& body) {
  const Gradient* gradient = std::get_if<Gradient>(&body);
  return gradient ? gradient->buffer == 0 : AlwaysHasTensor(KindOf(body));
}

}  // namespace starling::wire
