// A row per actor: what the learner says of it and what the supervisor knows of its process.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "learner/status.h"
#include "results/fleet_counts.h"

namespace starling::monitor {

struct ActorRow {
  // kStarting: no gradient of this process was accepted yet. kSilent: it works no more for the
  // learner, though its process lives. In this order they deserve a look.
  enum class State : std::uint8_t { kDead, kSilent, kStarting, kAlive };
  int slot = 0;
  State state = State::kStarting;
  // Nothing before its first gradient.
  std::optional<std::uint64_t> version{};    // of the weights behind its newest gradient
  std::uint64_t lag = 0;                     // the staleness of its last applied gradient
  std::optional<double> steps_per_second{};  // of the last seconds
  std::optional<double> waiting{};           // share of them that it waited for a grant, 0 to 1
  std::uint64_t restarts = 0;
};

class Crew {
 public:
  explicit Crew(int actors) : slots_(static_cast<std::size_t>(actors)) {}

  // Rows change once a second, so that they can be read, and all of them together.
  void Hear(std::int64_t now_ms, const learner::LearnerStatus& status);
  // By slot; `standings` has one entry each.
  std::vector<ActorRow> Rows(const std::vector<results::ActorStanding>& standings) const;

 private:
  struct Point {
    std::int64_t ms = 0;
    std::uint64_t steps = 0, wait_ms = 0;
  };
  struct Slot {
    std::uint64_t term = 0;
    learner::JoinedActor newest;
    std::int64_t heard_ms = 0;  // that it is a member
    std::deque<Point> points;   // of this incarnation, about a second apart
  };
  std::vector<Slot> slots_;
  std::int64_t heard_ms_ = 0;  // anything
};

}  // namespace starling::monitor
