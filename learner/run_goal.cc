#include "learner/run_goal.h"

#include <fmt/format.h>

#include <cmath>

#include "learner/counters.h"

namespace starling::learner {

bool RunGoal::ReturnReached(std::uint64_t episodes, double mean_return) const {
  return until_return != kNever && episodes >= Counters::kEpisodeWindow &&
         mean_return >= until_return;
}

bool RunGoal::ReturnReached(const RunStatus& status) const {
  return ReturnReached(status.episodes, status.mean_return.value_or(NAN));
}

std::string RunGoal::Describe(const RunStatus& status) const {
  if (!ReturnReached(status)) return "";
  return fmt::format(
      "mean return {:.2f} over the last {} episodes: run.until_return = {} is reached",
      *status.mean_return, Counters::kEpisodeWindow, until_return);
}

RunGoal GoalOf(const Config& config) {
  return {.steps = config.run.steps, .until_return = config.run.until_return};
}

}  // namespace starling::learner
