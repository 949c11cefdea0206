// A supervisor's account of its processes, in a file for readers outside: beside the learner's
// status (learner/run_status.h), which does not know how often an actor was started again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "monitor/redo_status.h"

namespace starling::monitor {

// One actor's process.
struct ActorProcess {
  bool alive = false;
  bool accepted = false;  // a gradient of this process was accepted
  std::uint64_t restarts = 0;

  friend bool operator==(const ActorProcess&, const ActorProcess&) = default;
};

struct FleetStatus {
  bool learner_alive = false;
  bool learner_silent = false;         // it lives and does not report
  bool over = false;                   // the run is about to end
  std::optional<RedoStatus> redo{};    // how far it is; nullopt: none is at work
  std::vector<ActorProcess> actors{};  // by slot; none if all come from elsewhere

  friend bool operator==(const FleetStatus&, const FleetStatus&) = default;
};

std::string ToText(const FleetStatus& fleet);
// Returns nullopt if `text` is no such object.
std::optional<FleetStatus> ParseFleetStatus(std::string_view text);

}  // namespace starling::monitor
