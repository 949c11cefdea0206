// The state of the learner for readers in other threads, such as the status pages. The network
// thread makes a new bulletin several times a second.
//
// Thread safety: a bulletin is immutable once it is made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "learner/roster.h"
#include "learner/run_status.h"

namespace starling::learner {

// A slot: its actor, or why there is none.
struct ActorRow {
  std::uint32_t slot = 0;
  bool alive = false;         // it has a member; the fields below `left` are set only then
  std::string left{};         // why its last member left; "" if it never had one
  std::string host{};         // reported by the actor
  std::uint32_t pid = 0;      // reported by the actor; on its host
  std::string key{};          // name of the key it joined with; "" without keys
  std::uint64_t version = 0;  // base of its newest gradient
  std::uint64_t lag = 0;      // staleness of its last applied gradient
  std::uint64_t gradients = 0, steps = 0;  // accepted since it joined
  double wait_s = 0;                       // for grants since it joined; reported by the actor
  double silent_s = 0;                     // since its last message

  friend bool operator==(const ActorRow&, const ActorRow&) = default;
};

struct Bulletin {
  std::int64_t at_ms = 0;  // steady clock, when it was made
  double unix_s = 0;       // wall clock, when it was made
  RunStatus status;
  std::vector<ActorRow> actors;  // see ActorRows
  std::size_t not_listed = 0;    // members without a row
};

inline constexpr std::size_t kMaxRows = 1024;  // the largest actors.count

// Returns a row for every member and for every empty slot below `expected`, in the order of slots;
// the first kMaxRows of them.
std::vector<ActorRow> ActorRows(const Roster& roster, std::size_t expected, std::int64_t now_ms);

}  // namespace starling::learner
