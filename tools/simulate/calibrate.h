// --times-from: the mean times of a real run, to simulate a fleet like it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/config.h"
#include "learner/status.h"

namespace starling::simulate {

// `simulate` with the times of a run of `config`, from what its learner said of itself at two
// moments of one term (all of its counters and times so far; the first may be nothing at all):
//   compute_ms   act, gradient and push of its actors, a gradient, less what env.step_ms set
//   refresh_ms   fetching weights, a gradient
//   receive_ms   the network thread at work, a gradient
//   apply_ms, merge_ms   the lanes; only their sum is known, so their ratio stays
//   network_ms half of what is left of an actor's wait for its grant; only where an actor waits for
//                nothing else (unbounded, updates of one gradient, one grant an actor), else as it
//                was
// Spread, stragglers and delays stay. Nothing if too few gradients came between the two.
std::optional<SimulateConfig> TimesBetween(const learner::LearnerStatus& begin,
                                           const learner::LearnerStatus& end, const Config& config,
                                           SimulateConfig simulate);

// The first and the last line of the last term in metrics.jsonl; the first is empty if it is the
// only one of a run that was never resumed. Nothing if they are not there.
struct FirstAndLast {
  learner::LearnerStatus first, last;
};
std::optional<FirstAndLast> LastTermOf(std::string_view metrics);

// Puts the times of the run in `run_dir` into config.simulate, but for the keys in `keep`
// ("simulate.compute_ms"). Throws UserError naming the directory if it does not tell, or if its
// gradients are of another size. Returns what there is to be said of it, a line each.
std::vector<std::string> TakeTimes(const std::filesystem::path& run_dir,
                                   const std::vector<std::string>& keep, Config& config);

}  // namespace starling::simulate
