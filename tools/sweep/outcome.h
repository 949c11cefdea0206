// The results of a sweep: sweep.json and the table that is printed at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "learner/run_status.h"
#include "results/eval_results.h"
#include "results/run_record.h"
#include "results/statistics.h"
#include "tools/sweep/grid.h"

namespace starling::sweep {

struct RunOutcome {
  std::uint64_t seed = 0;
  std::string dir;  // relative to the sweep's directory
  results::RunState state = results::RunState::kNotBegun;
  std::string error{};                          // last error line, if it failed
  std::optional<learner::RunStatus> summary{};  // results/summary.h
  std::optional<results::FinalEval> eval{};

  // Returns the mean return of the final evaluation, or of the last training episodes if the sweep
  // does not evaluate. Returns nullopt if the run is not finished.
  std::optional<double> Score(bool evaluated) const;
};

struct PointOutcome {
  std::string name;
  std::vector<std::pair<std::string, std::string>> varied;  // keys and values, in TOML
  std::vector<RunOutcome> runs;
};

// Statistics over the finished runs of a point.
struct PointNumbers {
  std::size_t finished = 0;
  std::size_t scored = 0;  // finished runs with a return; `returns` is over these
  std::optional<results::Spread> returns{};
  std::optional<double> steps_per_second{};  // mean
};
PointNumbers NumbersOf(const PointOutcome& point, bool evaluated);

// {"grid", "config", "simulated", "seeds", "eval_episodes", "points": [{"name", "settings": {key:
// value}, "finished", "mean", "median", "interquartile_mean", "steps_per_second", "runs": [{"seed",
// "dir", "state", "error", "steps", "seconds", "steps_per_second", "training_return", "staleness":
// {"mean", "max"}, "evaluation": {"mean_return", "std", "episodes"}}]}]}. Unknown values
// are null.
std::string SweepJson(const Grid& grid, const std::vector<PointOutcome>& points);

// One line per point: number of seeds with a return; their mean, median and interquartile mean;
// steps per second.
std::string SweepTable(const Grid& grid, const std::vector<PointOutcome>& points);

}  // namespace starling::sweep
