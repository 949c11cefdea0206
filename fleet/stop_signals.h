// The signals that stop a run, blocked around its supervisor.
#pragma once

#include <signal.h>

namespace starling::fleet {

// SIGINT, SIGTERM and SIGHUP.
sigset_t StopSignals();

// Blocks SIGINT, SIGTERM and SIGHUP while it lives, except while Supervise runs: none can interrupt
// the work between a run and its summary. Its destructor discards signals that are still pending.
class StopSignalsHeld {
 public:
  StopSignalsHeld();
  ~StopSignalsHeld();
  StopSignalsHeld(const StopSignalsHeld&) = delete;
  StopSignalsHeld& operator=(const StopSignalsHeld&) = delete;
};

}  // namespace starling::fleet
