// All messages between processes: the header and the body of each as plain structs. wire/codec.h
// converts them to frames and back; the byte table is in wire/README.md.
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

#include "core/config/words.h"

namespace starling::wire {

inline constexpr std::uint32_t kProtocolMagic = 0x4C525453;  // the bytes 'S' 'T' 'R' 'L'
inline constexpr std::uint16_t kProtocolVersion = 15;
inline constexpr std::size_t kHeaderBytes = 64;
inline constexpr std::size_t kMessageFrames = 3;

// Limits of one message. The receiver refuses a message that exceeds them, the sender CHECKs. The
// limit of the tensor depends on the net: the receiver passes its number of elements to Decode.
inline constexpr std::size_t kMaxWeights = std::size_t{1} << 28;  // of a net that actors take
inline constexpr std::size_t kMaxFieldsBytes = 320 * 1024;
inline constexpr std::size_t kMaxEpisodes = 100;             // in one gradient
inline constexpr std::size_t kMaxGrants = 256;               // in one answer
inline constexpr std::size_t kMaxOutcomes = 256;             // in one answer
inline constexpr std::size_t kMaxConfigBytes = 64 * 1024;    // Welcome::config
inline constexpr std::size_t kMaxTextBytes = 1024;           // every other string
inline constexpr std::size_t kMaxShardsNamed = 7;            // in a welcome, without the first
inline constexpr std::size_t kMaxTensors = 4096;             // in a welcome
inline constexpr std::size_t kMaxDimensions = 8;             // of a tensor
inline constexpr std::size_t kMaxTensorsBytes = 192 * 1024;  // of a welcome's: PackedBytes
inline constexpr std::size_t kMaxUpdateItems = 8192;         // in one message; 39 bytes each
inline constexpr std::size_t kMaxStatePart = 256 * 1024;     // bytes of a state in one message
inline constexpr std::size_t kMaxStateBytes = 1 << 30;       // of one actor's state
inline constexpr std::size_t kMaxMapEntries = 64;            // known and unknown keys of one body
inline constexpr std::size_t kMaxFieldsDepth = 8;

// The incarnation of an actor, new at every join of its slot in a term of the learner. `life`
// counts these joins from 0. The first 65,536 are (term << 16) | life. Later ones are 2^31 + (life
// - 2^16): no incarnation comes twice in a term, nor is one of the first of another term (below
// 2^15).
inline constexpr int kLifeBits = 16;
inline constexpr std::uint32_t kEarlyLives = 1u << kLifeBits, kLate = 1u << 31;

constexpr std::uint32_t MakeIncarnation(std::uint32_t term, std::uint32_t life) {
  return life < kEarlyLives ? ((term << kLifeBits) & ~kLate) | life : kLate | (life - kEarlyLives);
}
constexpr std::uint32_t LifeOf(std::uint32_t incarnation) {
  return incarnation < kLate ? incarnation & (kEarlyLives - 1) : incarnation - kLate + kEarlyLives;
}
// 0 for a late life.
constexpr std::uint32_t TermOf(std::uint32_t incarnation) {
  return incarnation < kLate ? incarnation >> kLifeBits : 0;
}

enum class Kind : std::uint8_t {
  kHello = 1,  // actor to learner: asks to join
  kWelcome,    // the answer: the run's config and the location of the weights
  kGradient,   // actor to learner
  kAnswer,     // answers to gradients, and new grants
  kHeartbeat,  // both ways
  kFetch,      // actor to learner: asks for weights
  kWeights,    // the answer
  kLeave,      // both ways: the last message of the sender
  // For a learner of several processes (docs/shards.md):
  kGradientSlice,  // actor to shard: the shard's slice of a gradient
  kShardHello,     // shard to learner: asks to join
  kShardWelcome,   // the answer: the state to begin with
  kShardReady,     // shard to learner: the address for actors
  kSliceHeld,      // shard to learner: a slice has arrived
  kDiscardSlice,   // learner to shard: a slice will not be applied
  kApplyUpdate,    // learner to shard: the slices to apply
  kShardApplied,   // shard to learner: a version is complete
  kShardSaved,     // shard to learner: its part of a checkpoint is written, or failed
  kReloadKeys,     // learner to shard: read the list of keys again
  // The states of envs and streams (docs/exact-resume.md):
  kFetchState,  // actor to learner: asks for a part of the state that it goes on from
  kState,       // both ways: a part of an actor's state
  kActed,       // actor to learner: it has played an unroll, and asks for its grant anew
};

enum class ElementType : std::uint8_t { kNone = 0, kF32, kBf16 };
constexpr std::size_t BytesOf(ElementType type) { return type == ElementType::kBf16 ? 2 : 4; }
// The type of a tensor whose configured number type (wire.gradient, wire.weights) is `type`.
constexpr ElementType ElementTypeOf(NumberType type) {
  return type == NumberType::kBf16 ? ElementType::kBf16 : ElementType::kF32;
}

// The first frame. Encode derives kind, element_type and count from the body and the tensor, and
// the codec adds magic, protocol and checksum.
struct Header {
  Kind kind = Kind::kHeartbeat;
  ElementType element_type = ElementType::kNone;
  std::uint32_t slot = 0;         // of the actor, in both directions (0 before a welcome)
  std::uint32_t incarnation = 0;  // of the actor in that slot
  std::uint64_t sequence = 0;     // the sender counts its messages from 1
  std::uint32_t term = 0;         // of the learner
  // A random number of each learner start, which tells apart runs that follow each other on an
  // endpoint with the same slots, incarnations and terms. 0 before the welcome.
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
  std::uint32_t fresh = 0;  // 1: it could not go on from the state of its slot
  friend bool operator==(const Hello&, const Hello&) = default;
};

// The address of a shard for actors. A tcp endpoint names the host as the shard itself sees it.
struct ShardAddress {
  std::string endpoint{};
  std::string snapshot{};  // path of the shared-memory file; empty: fetch the weights
  friend bool operator==(const ShardAddress&, const ShardAddress&) = default;
};

// A parameter of the net.
struct NamedShape {
  std::string name{};
  std::vector<std::int64_t> shape{};  // C order
  friend bool operator==(const NamedShape&, const NamedShape&) = default;
};
// An upper bound for its bytes in a message.
constexpr std::size_t PackedBytes(std::size_t name, std::size_t dimensions) {
  return 1 + 3 + name + 1 + 9 * dimensions;
}

// Slot, incarnation, term, version and fingerprint are in the header.
struct Welcome {
  std::string config{};    // the whole effective configuration, TOML
  std::string snapshot{};  // path of the shared-memory file; empty: fetch the weights
  std::string beacon{};    // endpoint of the version beacon; empty: none
  std::string buffers{};   // path of the actor's gradient buffers; empty: send gradients as tensors
  std::vector<ShardAddress> shards{};  // slices 1, 2, ...; slice 0 belongs to the sender
  std::uint32_t life = 0;              // from it the random streams of a fresh actor derive
  std::uint64_t state = 0;  // bytes of the state to go on from (kFetchState); 0: begin afresh
  std::vector<NamedShape> tensors{};  // of an external net (net.kind), in its order; else none
  friend bool operator==(const Welcome&, const Welcome&) = default;
};

struct Episode {
  double episode_return = 0;
  std::uint64_t length = 0;
  friend bool operator==(const Episode&, const Episode&) = default;
};

// Base version and term are in the header. The reals are unchecked values of the peer: a receiver
// that averages them checks that they are finite.
struct Gradient {
  std::uint64_t grant = 0;    // number of the grant it spends
  std::uint32_t buffer = 0;   // location of the values: 0: the tensor, k > 0: buffer k - 1
  std::uint32_t weights = 0;  // 1: send weights behind the next grant
  std::uint32_t samples = 0;
  std::uint64_t use = 0;     // its place among the gradients of its unroll
  std::uint64_t played = 0;  // version of the weights that played the unroll; at most its base
  double norm = 0;           // global L2 norm before clipping
  double policy_loss = 0, value_loss = 0, entropy = 0;
  double kl = 0, clipped = 0;  // of PPO (net/loss.h)
  // The actor's time: waiting for a grant, getting weights, acting, waiting for envs meanwhile,
  // backward pass, sending the previous gradient. On a GPU acting and backward pass
  // are its own time, and overlap the host's.
  std::uint32_t wait_us = 0, refresh_us = 0, act_us = 0, act_wait_us = 0, gradient_us = 0,
                push_us = 0;
  // Episodes that ended since the last gradient: the newest, at most kMaxEpisodes, and the number
  // of those before them.
  std::vector<Episode> episodes{};
  std::uint64_t episodes_before = 0;
  // Since the last gradient: replaced env processes, and episodes (not among those above) that were
  // cut off by it.
  std::uint32_t episodes_cut = 0, envs_replaced = 0;
  friend bool operator==(const Gradient&, const Gradient&) = default;
};

// The fate of a gradient. All outcomes after kMerged are refusals.
enum class Outcome : std::uint8_t {
  kNone = 0,  // held: not decided yet; never in a message
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
  kNoBuffer,  // its buffer does not exist, or is with the learner already
  kWrongUse,  // its grant is for another gradient of the unroll, or newer weights played that
};
inline constexpr std::size_t kOutcomes = 16;
// "applied", "no_grant", ...: the names in summary.json.
const char* OutcomeName(Outcome outcome);

// The permission to compute one gradient; of the first of an unroll, to play it. An acting grant is
// granted anew, under its number and with a newer version, once the actor has played (Acted).
struct Grant {
  std::uint64_t number = 0;   // identifies it; one gradient spends it
  std::uint64_t version = 0;  // lowest version of the weights to compute on
  std::uint64_t use = 0;      // the gradient's place among those of its unroll
  std::uint32_t acting = 0;   // 1: play first, then ask
  friend bool operator==(const Grant&, const Grant&) = default;
};

struct GradientOutcome {
  std::uint64_t gradient = 0;  // sequence of the Gradient message
  Outcome outcome = Outcome::kNone;
  std::uint64_t staleness = 0;
  friend bool operator==(const GradientOutcome&, const GradientOutcome&) = default;
};

// All that one turn of the learner's loop has for an actor: the outcomes of its gradients, in the
// order of the decisions, and new grants. Either may be empty. With `cut` the actor sends its state
// before it spends a grant: it belongs to the checkpoint of this version. With `weights` a message
// with weights follows that suit all grants up to here.
struct Answer {
  std::vector<GradientOutcome> outcomes{};
  std::vector<Grant> grants{};
  std::uint64_t cut = 0;      // 0: none
  std::uint32_t weights = 0;  // 1: they follow
  friend bool operator==(const Answer&, const Answer&) = default;
};

struct Heartbeat {
  friend bool operator==(const Heartbeat&, const Heartbeat&) = default;
};

struct Fetch {
  std::uint64_t version = 0;  // lowest version that serves; with a delay the only one
  friend bool operator==(const Fetch&, const Fetch&) = default;
};

// The version is in the header.
struct Weights {
  std::uint64_t steps = 0;  // samples applied so far
  double entropy = 0;       // entropy coefficient of the schedule at these steps
  friend bool operator==(const Weights&, const Weights&) = default;
};

enum class LeaveReason : std::uint8_t {
  kRunOver = 0,   // learner: all steps are done
  kShuttingDown,  // learner: interrupted
  kRefused,       // learner: wrong fingerprint, protocol or slot; `text` names the reason
  kLeaving,       // ends this incarnation: the actor leaves, or has to join again as a new one
};
inline constexpr std::size_t kLeaveReasons = 4;

struct Leave {
  LeaveReason reason = LeaveReason::kLeaving;
  std::string text{};  // one sentence for the log
  friend bool operator==(const Leave&, const Leave&) = default;
};

// The tensor is the shard's slice of a gradient. Slot, incarnation, term and base version are those
// of the gradient.
struct GradientSlice {
  std::uint64_t gradient = 0;  // sequence of the sender's Gradient message
  friend bool operator==(const GradientSlice&, const GradientSlice&) = default;
};

struct ShardHello {
  std::uint32_t shard = 0;  // from 1
  std::uint32_t pid = 0;
  friend bool operator==(const ShardHello&, const ShardHello&) = default;
};

// Term and version are in the header.
struct ShardWelcome {
  std::string checkpoint{};  // to start from, relative to the run directory
  std::string endpoint{};    // to listen on
  std::string snapshot{};    // shared-memory file to create; empty: none
  std::string local_key{};   // public key of the actors of this host; empty: plain sockets
  friend bool operator==(const ShardWelcome&, const ShardWelcome&) = default;
};

struct ShardReady {
  ShardAddress address{};
  friend bool operator==(const ShardReady&, const ShardReady&) = default;
};

// Slot and incarnation of the gradient are in the header.
struct SliceHeld {
  std::uint64_t gradient = 0;
  double norm = 0;    // L2 norm of the slice; not finite if the slice is not
  std::string key{};  // public key of the sender; empty on plain sockets
  friend bool operator==(const SliceHeld&, const SliceHeld&) = default;
};

// Slot and incarnation of the gradient are in the header.
struct DiscardSlice {
  std::uint64_t gradient = 0;
  friend bool operator==(const DiscardSlice&, const DiscardSlice&) = default;
};

// The update that creates the header's version. An update of more than kMaxUpdateItems gradients is
// several messages of that version, one after the other.
struct ApplyUpdate {
  struct Item {  // one gradient
    std::uint32_t slot = 0, incarnation = 0;
    std::uint64_t gradient = 0;
    double weight = 1;       // its samples, relative to those of the first gradient of the update
    std::uint32_t sums = 1;  // 1: its running sums count
    std::uint64_t staleness = 0;
    friend bool operator==(const Item&, const Item&) = default;
  };
  std::vector<Item> items{};  // in the order of summation; none: only a checkpoint
  double lr = 0, scale = 1;
  std::uint64_t samples = 0;  // of all its gradients
  std::uint64_t optimizer_step = 0, steps = 0;
  double entropy = 0;
  std::uint32_t checkpoint = 0;  // 1: write the shard's part of a checkpoint of this version
  std::uint32_t more = 0;        // 1: further items of this version follow in the next message
  friend bool operator==(const ApplyUpdate&, const ApplyUpdate&) = default;
};

// The version is in the header.
struct ShardApplied {
  friend bool operator==(const ShardApplied&, const ShardApplied&) = default;
};

// The version is in the header.
struct ShardSaved {
  std::string error{};  // empty: success
  friend bool operator==(const ShardSaved&, const ShardSaved&) = default;
};

struct ReloadKeys {
  friend bool operator==(const ReloadKeys&, const ReloadKeys&) = default;
};

struct FetchState {
  std::uint64_t offset = 0;  // bytes that are here already
  friend bool operator==(const FetchState&, const FetchState&) = default;
};

// From an actor the header has the version of the cut; parts come in order. A state of 0 bytes: the
// actor has none that can be saved.
struct State {
  std::uint64_t offset = 0, total = 0;  // of this part, of the whole state: bytes
  std::string bytes{};
  friend bool operator==(const State&, const State&) = default;
};

struct Acted {
  std::uint64_t grant = 0;    // the acting grant's number
  std::uint32_t weights = 0;  // 1: send weights behind it, as of a Gradient
  friend bool operator==(const Acted&, const Acted&) = default;
};

// The alternatives are in the order of Kind: index() + 1 is the kind.
using Body =
    std::variant<Hello, Welcome, Gradient, Answer, Heartbeat, Fetch, Weights, Leave, GradientSlice,
                 ShardHello, ShardWelcome, ShardReady, SliceHeld, DiscardSlice, ApplyUpdate,
                 ShardApplied, ShardSaved, ReloadKeys, FetchState, State, Acted>;
inline constexpr std::size_t kKinds = std::variant_size_v<Body>;
const char* KindName(Kind kind);  // "hello", ...

inline Kind KindOf(const Body& body) { return static_cast<Kind>(body.index() + 1); }
// Weights and slices have a tensor, and so have gradients unless they are in a buffer.
inline bool AlwaysHasTensor(Kind kind) {
  return kind == Kind::kWeights || kind == Kind::kGradientSlice;
}
inline bool MayHaveTensor(Kind kind) { return kind == Kind::kGradient || AlwaysHasTensor(kind); }
inline bool HasTensor(const Body& body) {
  const Gradient* gradient = std::get_if<Gradient>(&body);
  return gradient ? gradient->buffer == 0 : AlwaysHasTensor(KindOf(body));
}

}  // namespace starling::wire
