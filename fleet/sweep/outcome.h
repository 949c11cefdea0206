// What has become of the runs of a sweep: sweep.json, and the table that is printed at the end.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/sweep/final_eval.h"
#include "fleet/sweep/grid.h"
#include "fleet/sweep/run_state.h"

namespace starling::fleet {

enum class RunStanding : std::uint8_t { kOpen, kRunning, kDone, kFailed };
std::string_view NameOf(RunStanding standing);  // "open", "running", "done", "failed"

struct RunOutcome {
  std::uint64_t seed = 0;
  std::string dir;  // relative to the sweep's
  RunStanding standing = RunStanding::kOpen;
  std::string error{};  // of a failed one: its last sentence
  std::optional<RunSummary> summary{};
  std::optional<FinalEval> eval{};

  // What the run is judged by: its evaluation, or (without one) the return of its last training
  // episodes. Nothing unless it is done.
  std::optional<double> Score(bool evaluated) const;
};

struct PointOutcome {
  std::string name;
  std::vector<std::pair<std::string, std::string>> varied;  // keys, values as TOML
  std::vector<RunOutcome> runs;
};

// Over the runs of a point that are done.
struct PointNumbers {
  std::size_t runs = 0;
  std::optional<double> mean, median, interquartile_mean, steps_per_second;  // the last a mean
};
PointNumbers NumbersOf(const PointOutcome& point, bool evaluated);

// {"grid", "config", "seeds", "eval_episodes", "points": [{"name", "settings": {key: value},
// "finished", "mean", "median", "interquartile_mean", "steps_per_second", "runs": [{"seed", "dir",
// "state", "error", "steps", "seconds", "steps_per_second", "training_return", "staleness": {"mean",
// "max"}, "evaluation": {"mean_return", "std", "episodes"}}]}]}; null is what is not known.
nlohmann::ordered_json SweepJson(const Grid& grid, const std::vector<PointOutcome>& points);

// A line for each point: seeds that are done, mean, median and interquartile mean, steps per second.
std::string SweepTable(const Grid& grid, const std::vector<PointOutcome>& points);

}  // namespace starling::fleet
