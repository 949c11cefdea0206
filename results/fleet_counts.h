// What the supervisor counts of its processes, for the summary and for the screen.
#pragma once

#include <cstdint>

namespace starling::results {

struct FleetCounts {
  std::uint64_t actors_started = 0, actors_restarted = 0, learner_restarted = 0;
};

// How one actor's process stands.
struct ActorProcess {
  bool alive = false;
  bool accepted = false;  // this process has had a gradient accepted
  std::uint64_t restarts = 0;

  friend bool operator==(const ActorProcess&, const ActorProcess&) = default;
};

}  // namespace starling::results
