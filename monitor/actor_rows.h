// A row per actor: the learner's account of it, and the supervisor's account of its process.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "learner/run_status.h"
#include "monitor/window.h"

namespace starling::monitor {

// The supervisor's account of one actor's process.
struct ActorProcess {
  bool alive = false;
  bool accepted = false;  // a gradient of this process was accepted
  std::uint64_t restarts = 0;

  friend bool operator==(const ActorProcess&, const ActorProcess&) = default;
};

struct ActorRow {
  // Ordered by how much an actor deserves a look. kStarting: no gradient of this process was
  // accepted yet. kSilent: the process lives, but the learner no longer counts it as a member.
  enum class State : std::uint8_t { kDead, kSilent, kStarting, kAlive };
  int slot = 0;
  State state = State::kStarting;
  // nullopt before the first gradient.
  std::optional<std::uint64_t> version{};    // of the weights behind its newest gradient
  std::uint64_t lag = 0;                     // staleness of its last applied gradient
  std::optional<double> steps_per_second{};  // over the last ten seconds
  std::optional<double> waiting{};           // share of them spent waiting for grants, 0 to 1
  std::uint64_t restarts = 0;
};

class ActorRows {
 public:
  explicit ActorRows(int actors) : slots_(static_cast<std::size_t>(actors)) {}

  // Takes at most one point per actor and second, so that numbers on a screen can be read.
  void Add(std::int64_t now_ms, const learner::RunStatus& status);
  // Returns a row per slot. REQUIRES: one process per slot.
  std::vector<ActorRow> Rows(const std::vector<ActorProcess>& processes) const;

 private:
  struct Slot {
    std::uint64_t term = 0;
    std::int64_t member_ms = 0;                   // last time the learner listed it as a member
    Window<learner::JoinedActor> points{10'000};  // of one incarnation
  };
  std::vector<Slot> slots_;
  std::int64_t newest_ms_ = 0;  // of the newest status
};

}  // namespace starling::monitor
