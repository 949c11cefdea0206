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
inline constexpr std::uint16_t kProtocolVersion = 3;
inline constexpr std::size_t kHeaderBytes = 64;
inline constexpr std::size_t kMessageFrames = 3;

// Limits of one message. The receiver refuses what exceeds them, the sender CHECKs. What bounds the
// tensor is the net: the receiver passes its own number of elements to Decode.
inline constexpr std::size_t kMaxFieldsBytes = 320 * 1024;
inline constexpr std::size_t kMaxEpisodes = 16'384;        // in one gradient; 18 bytes each at most
inline constexpr std::size_t kMaxGrants = 256;             // in one answer
inline constexpr std::size_t kMaxConfigBytes = 64 * 1024;  // Welcome::config
inline constexpr std::size_t kMaxTextBytes = 1024;         // every other string
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

// Slot, incarnation, term, version and fingerprint are in the header.
struct Welcome {
  std::string config{};    // the whole effective configuration, TOML
  std::string snapshot{};  // path of the shared-memory file; empty: fetch
  std::string beacon{};    // endpoint of the version beacon; empty: none
  std::string buffers{};   // path of the actor's gradient buffers; empty: gradients bring a tensor

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

// In the order of Kind: index() + 1 is the kind.
using Body = std::variant<Hello, Welcome, Gradient, Answer, Heartbeat, Fetch, Weights, Bye>;
inline constexpr std::size_t kKinds = std::variant_size_v<Body>;
const char* KindName(Kind kind);  // "hello", ...

inline Kind KindOf(const Body& body) { return static_cast<Kind>(body.index() + 1); }
// Weights carry an f32 tensor, gradients too unless they are in a buffer; everything else none.
inline bool MayHaveTensor(Kind kind) { return kind == Kind::kGradient || kind == Kind::kWeights; }
inline bool HasTensor(const Body& body) {
  const Gradient* gradient = std::get_if<Gradient>(&body);
  return gradient ? gradient->buffer == 0 : KindOf(body) == Kind::kWeights;
}

}  // namespace starling::wire
