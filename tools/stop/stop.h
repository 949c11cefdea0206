// `starling stop`: ends a fleet in order, from the learner's machine.
#pragma once

#include <string>

#include "core/clock.h"

namespace starling::stop {

struct StopOptions {
  std::string run_dir;
  double timeout_s = 60;
};

// Stops the run's learner, as Ctrl-C does: the learner ends its actors on all machines and writes
// its last checkpoint. Waits for the end of the learner and of its supervisor. Returns the exit
// status: kExitFailed if they do not end in time or updates are lost. Throws UserError if the run
// has no learner here. Measures the timeout by `clock`.
int RunStop(const StopOptions& options, const Clock& clock = SteadyClock());

}  // namespace starling::stop
