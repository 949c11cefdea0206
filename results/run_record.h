// One run as a report sees it: whatever its directory still holds, and what is wrong with it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "learner/status.h"
#include "results/eval_results.h"
#include "results/final_eval.h"
#include "results/flat_config.h"
#include "results/run_state.h"

namespace starling::results {

// A line of metrics.jsonl.
struct MetricPoint {
  double steps = 0, seconds = 0;
  std::optional<double> mean_return{};
  std::optional<std::uint64_t> episodes{};  // that have ended; older runs do not tell
};

struct LoadedRun {
  std::filesystem::path dir;
  RunState state = RunState::kNotBegun;
  std::vector<std::string> troubles{};  // sentences
  FlatConfig config{};                  // empty if it cannot be read
  std::vector<MetricPoint> metrics{};   // steps ascending
  std::vector<EvalLine> evals{};        // likewise
  std::optional<learner::LearnerStatus> summary{};
  std::string error{};                    // why it failed
  std::optional<FinalEval> final_eval{};  // of the final weights, no others
  bool simulated = false;                 // its seconds are virtual ones
  bool repeated = false;  // another finished run has the same configuration, seed and all

  bool finished() const { return state == RunState::kFinished; }
  // Whether the numbers of its group are made of it, too.
  bool counts() const { return finished() && !repeated; }
  std::string Key(const std::string& key) const;  // of the configuration, as TOML; "" if not there
  double steps() const;                           // that it came to
};

// Points of lines of JSON, oldest first; those that a later line takes back (a run gone on with from
// a checkpoint) are left out. A last line that was cut is passed over; `damaged` counts the others
// that are no such JSON, or hold numbers that cannot be.
std::vector<MetricPoint> ParseMetrics(const std::string& text, int& damaged);

// Never throws for what a directory holds: what is wrong becomes a trouble.
LoadedRun LoadRun(const std::filesystem::path& dir);

}  // namespace starling::results
