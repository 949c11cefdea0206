// What `starling train` will do, after all that can be checked is checked: begin a run, or go on
// with one.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "core/config/config.h"
#include "fleet/learner_command.h"
#include "fleet/train.h"

namespace starling::fleet {

struct Plan {
  Config config{};
  LearnerCommand learner{};
  std::filesystem::path run_dir{};
  bool resume = false;
  std::string warning{};  // for the operator; "" if there is none
};

// Waits for a moment; false: that was the last one.
using Waits = std::function<bool()>;
// Five seconds in all: a learner whose supervisor was killed ends within two.
Waits WaitsForAnEnd();

// Creates the run directory of a run that begins, and empties a failed start there. `wait` is for
// the processes of an earlier start that are ending. Throws UserError.
Plan PreparePlan(const TrainOptions& options, const Waits& wait = WaitsForAnEnd());

}  // namespace starling::fleet
