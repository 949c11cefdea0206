// What a run wants to come to: run.steps, or before that the mean return of run.until_return.
//
// Thread safety: the functions share nothing.
#pragma once

#include <cstdint>
#include <string>

#include "core/config/config.h"
#include "learner/run_status.h"

namespace starling::learner {

struct RunGoal {
  std::uint64_t steps = 0;       // run.steps
  double until_return = kNever;  // run.until_return

  // Whether the window of Counters is full, after `episodes` in all, and its mean is high enough.
  // `mean_return` may be NaN.
  bool ReturnReached(std::uint64_t episodes, double mean_return) const;
  bool ReturnReached(const RunStatus& status) const;
  // Whether a run with this status is complete.
  bool Reached(const RunStatus& status) const {
    return status.steps >= steps || ReturnReached(status);
  }
  // "mean return 40.20 over the last 100 episodes: run.until_return = 40 is reached", or "" if it
  // is not.
  std::string Describe(const RunStatus& status) const;
};

RunGoal GoalOf(const Config& config);

}  // namespace starling::learner
