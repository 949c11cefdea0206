// `starling stop`: ends a fleet in order, from the machine of its learner.
#pragma once

#include <string>

namespace starling::stop {

struct StopOptions {
  std::string run_dir;
  double timeout_s = 60;
};

// Tells the learner of the run to end, as Ctrl-C does: it sends its actors home, wherever they are, and writes
// its last checkpoint. Waits until it has ended, and with it whoever supervises it. The exit status:
// kExitFailed if it has not within the time given. Throws UserError if there is none.
int RunStop(const StopOptions& options);

}  // namespace starling::stop
