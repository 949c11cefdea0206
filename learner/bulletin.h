// What the learner shows of itself to those who watch it from other threads: made by the network
// thread several times a second, and never touched again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "learner/roster.h"
#include "learner/status.h"

namespace starling::learner {

// A slot: its actor, or why there is none.
struct ActorRow {
  std::uint32_t slot = 0;
  bool alive = false;         // a member of ours; all that follows `left` is of members only
  std::string left{};         // why its last member is gone; "" if it never had one
  std::string host{};         // as it says
  std::uint32_t pid = 0;      // as it says, on its host
  std::string key{};          // the name of the key that it showed; "" where none is asked for
  std::uint64_t version = 0;  // of the weights behind its newest gradient
  std::uint64_t lag = 0;      // staleness of the last of its gradients that was applied
  std::uint64_t gradients = 0, steps = 0;  // accepted since it joined
  double wait_s = 0;                       // for grants since it joined, as it says
  double silent_s = 0;                     // since it was last heard

  friend bool operator==(const ActorRow&, const ActorRow&) = default;
};

struct Bulletin {
  std::int64_t at_ms = 0;  // of the steady clock: the network thread's loop turned then
  double unix_s = 0;       // and what the clock on the wall showed
  LearnerStatus status;
  std::vector<ActorRow> actors;  // ActorRows
  std::size_t not_listed = 0;    // members that are not among them
};

inline constexpr std::size_t kMostRows = 1024;  // as many as actors.count may be

// By slot: every member, and the slots below `expected` that have none; the first kMostRows of
// them.
std::vector<ActorRow> ActorRows(const Roster& roster, std::size_t expected, std::int64_t now_ms);

}  // namespace starling::learner
