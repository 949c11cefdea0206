// `starling simulate`: trains with a fleet of any size in one process, in virtual time. All but the
// time is real, and the run directory is like any other (docs/virtual-time.md).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/config.h"
#include "learner/run_status.h"

namespace starling::simulate {

struct SimulateOptions {
  std::filesystem::path config;
  std::vector<std::string> overrides;               // "section.key=value"
  std::optional<std::filesystem::path> run_dir;     // refused if it exists and is not empty
  std::optional<std::filesystem::path> times_from;  // a run with the mean times to use
  std::string program = "starling";                 // as called, for the hints at the end
};

// Returns the exit status (core/error.h). Throws UserError before it creates anything.
int RunSimulate(const SimulateOptions& options);

// ---- Which configurations can be simulated (settings.cc)

// The contradictions of CheckConfig (fleet/check_config.h), and those with a simulation.
std::vector<Contradiction> CheckSimulation(const Config& config);

// Sets the keys that a simulation fixes: it computes on the CPU, in one process, without a network.
void SettleSimulation(Config& config);

// ---- Times of a real run, for --times-from (settings.cc)

// Returns `simulate` with the times of a run of `config`, from two statuses of its learner in one
// term (counters and times so far; the first may be empty). Per gradient:
//   compute_ms   acting, gradient and push of an actor, without the pace of env.step_ms
//   refresh_ms   fetching weights
//   receive_ms   work of the network thread
//   apply_ms, merge_ms   work of the lanes; only their sum is measured, so their ratio stays
//   network_ms   half of the rest of an actor's wait for its grant, if an actor waits for nothing
//                else (unbounded, updates of one gradient, one grant per actor); else unchanged
// Spread, stragglers and delays stay. Returns nullopt if too few gradients arrived between the two.
std::optional<SimulateConfig> TimesBetween(const learner::RunStatus& begin,
                                           const learner::RunStatus& end, const Config& config,
                                           SimulateConfig simulate);

// Returns the first and the last line of the last term in metrics.jsonl, or nullopt if there are
// none. If there is only one, of a run that was never resumed, the first is empty.
struct FirstAndLast {
  learner::RunStatus first, last;
};
std::optional<FirstAndLast> LastTermOf(std::string_view metrics);

// Puts the times of the run in `run_dir` into config.simulate, without the keys in `keep`
// ("simulate.compute_ms"). Returns lines for the operator. Throws UserError with the directory's
// name if the run holds no times, or if its gradients have another size.
std::vector<std::string> TakeTimes(const std::filesystem::path& run_dir,
                                   const std::vector<std::string>& keep, Config& config);

}  // namespace starling::simulate
