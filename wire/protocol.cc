#include "wire/protocol.h"

#include <iterator>

namespace starling::wire {

// Each table is in the order of its enum.

const char* OutcomeName(Outcome outcome) {
  static constexpr const char* kNames[] = {
      "none",        "applied",         "merged",         "stale",
      "no_grant",    "duplicate",       "future_version", "below_grant",
      "other_term",  "old_incarnation", "not_finite",     "norm_too_large",
      "bad_samples", "unknown_actor",   "no_buffer",      "wrong_use"};
  static_assert(std::size(kNames) == kOutcomes);
  const auto index = static_cast<std::size_t>(outcome);
  return index < kOutcomes ? kNames[index] : "unknown";
}

const char* KindName(Kind kind) {
  static constexpr const char* kNames[] = {
      "hello",         "welcome",     "gradient",    "answer",         "heartbeat",
      "fetch",         "weights",     "leave",       "gradient_slice", "shard_hello",
      "shard_welcome", "shard_ready", "slice_held",  "discard_slice",  "apply_update",
      "shard_applied", "shard_saved", "reload_keys", "fetch_state",    "state",
      "acted"};
  static_assert(std::size(kNames) == kKinds);
  const auto index = static_cast<std::size_t>(kind) - 1;  // kinds count from 1
  return index < kKinds ? kNames[index] : "unknown";
}

}  // namespace starling::wire
