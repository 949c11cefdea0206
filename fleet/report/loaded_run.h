// One run as a report sees it: whatever its directory still holds, and what is wrong with it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/flat_config.h"
#include "fleet/status.h"
#include "fleet/sweep/final_eval.h"
#include "fleet/sweep/run_state.h"

namespace starling::fleet {

enum class RunState : std::uint8_t { kFinished, kUnfinished, kFailed, kDamaged, kNotBegun };
std::string_view NameOf(RunState state);  // "finished", "unfinished" ...

// A line of metrics.jsonl.
struct MetricPoint {
  double steps = 0, seconds = 0;
  std::optional<double> mean_return;
};

// A line of eval.jsonl.
struct EvalPoint {
  double steps = 0, mean_return = 0;
};

struct LoadedRun {
  std::filesystem::path dir;
  RunState state = RunState::kNotBegun;
  std::vector<std::string> troubles{};  // sentences
  FlatConfig config{};                  // empty if it cannot be read
  std::vector<MetricPoint> metrics{};   // steps ascending
  std::vector<EvalPoint> evals{};       // likewise
  std::optional<RunSummary> summary{};
  std::vector<std::uint64_t> staleness{};  // gradients applied of staleness 0, 1, ...
  TimeStatus time{};                       // shares
  std::optional<FinalEval> final_eval{};

  bool finished() const { return state == RunState::kFinished; }
  std::string Key(const std::string& key) const;  // of the configuration, as TOML; "" if not there
  double steps() const;                           // that it came to
};

// Points of lines of JSON, oldest first; those that a later line takes back (a run gone on with from
// a checkpoint) are left out. A last line that was cut is passed over; `damaged` counts the others
// that are no JSON.
std::vector<MetricPoint> ParseMetrics(const std::string& text, int& damaged);
std::vector<EvalPoint> ParseEvals(const std::string& text, int& damaged);

// Never throws for what a directory holds: what is wrong becomes a trouble.
LoadedRun LoadRun(const std::filesystem::path& dir);

}  // namespace starling::fleet
