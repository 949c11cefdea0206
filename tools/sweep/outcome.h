// What has become of the runs of a sweep: sweep.json, and the table that is printed at the end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "learner/run_status.h"
#include "results/final_eval.h"
#include "results/run_record.h"
#include "results/statistics.h"
#include "tools/sweep/grid.h"

namespace starling::sweep {

struct RunOutcome {
  std::uint64_t seed = 0;
  std::string dir;  // relative to the sweep's
  results::RunState state = results::RunState::kNotBegun;
  std::string error{};                          // of a failed one: its last sentence
  std::optional<learner::RunStatus> summary{};  // results/summary.h
  std::optional<results::FinalEval> eval{};

  // What the run is judged by: its evaluation, or (without one) the return of its last training
  // episodes. Nothing unless it is finished.
  std::optional<double> Score(bool evaluated) const;
};

struct PointOutcome {
  std::string name;
  std::vector<std::pair<std::string, std::string>> varied;  // keys, values as TOML
  std::vector<RunOutcome> runs;
};

// Over the runs of a point that are finished.
struct PointNumbers {
  std::size_t finished = 0;
  std::size_t scored = 0;  // those of them that have a return: the spread is theirs
  std::optional<results::Spread> returns{};
  std::optional<double> steps_per_second{};  // mean
};
PointNumbers NumbersOf(const PointOutcome& point, bool evaluated);

// {"grid", "config", "simulated", "seeds", "eval_episodes", "points": [{"name", "settings": {key:
// value}, "finished", "mean", "median", "interquartile_mean", "steps_per_second", "runs": [{"seed",
// "dir", "state", "error", "steps", "seconds", "steps_per_second", "training_return", "staleness":
// {"mean", "max"}, "evaluation": {"mean_return", "std", "episodes"}}]}]}; null is what is not
// known.
std::string SweepJson(const Grid& grid, const std::vector<PointOutcome>& points);

// A line for each point: seeds that count, mean, median and interquartile mean, steps per second.
std::string SweepTable(const Grid& grid, const std::vector<PointOutcome>& points);

}  // namespace starling::sweep
