#include "wire/protocol.h"

namespace starling::wire {

// The switches have no default, so that the compiler names the enumerator that was forgotten.
const char* OutcomeName(Outcome outcome) {
  switch (outcome) {
    case Outcome::kNone:
      return "none";
    case Outcome::kApplied:
      return "applied";
    case Outcome::kMerged:
      return "merged";
    case Outcome::kStale:
      return "stale";
    case Outcome::kNoGrant:
      return "no_grant";
    case Outcome::kDuplicate:
      return "duplicate";
    case Outcome::kFutureVersion:
      return "future_version";
    case Outcome::kBelowGrant:
      return "below_grant";
    case Outcome::kOtherTerm:
      return "other_term";
    case Outcome::kOldIncarnation:
      return "old_incarnation";
    case Outcome::kNotFinite:
      return "not_finite";
    case Outcome::kNormTooLarge:
      return "norm_too_large";
    case Outcome::kBadSamples:
      return "bad_samples";
    case Outcome::kUnknownActor:
      return "unknown_actor";
    case Outcome::kNoBuffer:
      return "no_buffer";
  }
  return "unknown";
}

const char* ByeReasonName(ByeReason reason) {
  switch (reason) {
    case ByeReason::kRunOver:
      return "run_over";
    case ByeReason::kShuttingDown:
      return "shutting_down";
    case ByeReason::kRefused:
      return "refused";
    case ByeReason::kLeaving:
      return "leaving";
  }
  return "unknown";
}

const char* KindName(Kind kind) {
  switch (kind) {
    case Kind::kHello:
      return "hello";
    case Kind::kWelcome:
      return "welcome";
    case Kind::kGradient:
      return "gradient";
    case Kind::kAnswer:
      return "answer";
    case Kind::kHeartbeat:
      return "heartbeat";
    case Kind::kFetch:
      return "fetch";
    case Kind::kWeights:
      return "weights";
    case Kind::kBye:
      return "bye";
    case Kind::kGradientSlice:
      return "gradient_slice";
    case Kind::kShardHello:
      return "shard_hello";
    case Kind::kShardWelcome:
      return "shard_welcome";
    case Kind::kShardReady:
      return "shard_ready";
    case Kind::kSliceHeld:
      return "slice_held";
    case Kind::kForget:
      return "forget";
    case Kind::kVerdict:
      return "verdict";
    case Kind::kShardApplied:
      return "shard_applied";
    case Kind::kShardSaved:
      return "shard_saved";
    case Kind::kReloadKeys:
      return "reload_keys";
  }
  return "unknown";
}

}  // namespace starling::wire
