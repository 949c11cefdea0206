// One run as reports and sweeps read it: its state, its numbers, and the defects of its files.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "learner/run_status.h"
#include "results/eval_results.h"

namespace starling::results {

enum class RunState : std::uint8_t {
  kNotBegun,
  kUnfinished,  // interrupted, or still running in another process
  kRunning,     // a child of this sweep
  kFinished,
  kFailed,
  kDamaged,  // its files hold too little
};
// The word for it in sweep.json and in reports: "not begun", "unfinished", ...
std::string_view NameOf(RunState state);

// The keys of a configuration of any version of Starling, and their values as TOML:
// "staleness.bound" -> `4`, "staleness.on_exceed" -> `"wait"`.
using FlatConfig = std::map<std::string, std::string>;

// Leaves out keys outside of sections. Throws std::runtime_error with a sentence if `toml` is not
// TOML.
FlatConfig Flatten(const std::string& toml);

// A line of metrics.jsonl.
struct MetricPoint {
  double steps = 0, seconds = 0;
  std::optional<double> mean_return{};
  std::optional<std::uint64_t> episodes{};  // ended so far; nullopt in runs of older versions
};

struct LoadedRun {
  std::filesystem::path dir;
  RunState state = RunState::kNotBegun;
  std::vector<std::string> problems{};  // a sentence for each defect
  FlatConfig config{};                  // empty if it cannot be read
  std::vector<MetricPoint> metrics{};   // steps ascending
  std::vector<EvalLine> evals{};        // steps ascending
  std::optional<learner::RunStatus> summary{};
  std::string error{};                    // why it failed; "" if it did not
  std::optional<FinalEval> final_eval{};  // of the final weights only
  bool simulated = false;                 // its seconds are virtual
  bool repeated = false;              // another finished run has the same configuration and seed
  std::vector<std::string> varied{};  // keys that its sweep varies; empty if it is of none

  bool finished() const { return state == RunState::kFinished; }
  // Whether it enters the numbers of its group.
  bool counts() const { return finished() && !repeated; }
  std::string Key(const std::string& key) const;  // its value as TOML; "" if there is none
  double steps() const;                           // reached
};

// Parses lines of JSON, oldest first. Leaves out lines that a later one takes back (the run was
// resumed from a checkpoint), and a cut last line. `damaged` counts the other lines that are no
// such JSON, or hold impossible numbers.
std::vector<MetricPoint> ParseMetrics(const std::string& text, int& damaged);
// Those of the last `bytes` of run_dir/metrics.jsonl, oldest first; none if it cannot be read.
std::vector<MetricPoint> NewestMetrics(const std::filesystem::path& run_dir,
                                       std::uint64_t bytes = 1 << 20);

// Follows run_dir/metrics.jsonl while it grows. Each call reads a bounded part of it.
class MetricsTail {
 public:
  explicit MetricsTail(const std::filesystem::path& run_dir) : file_(run_dir / "metrics.jsonl") {}

  // Reads on. Returns whether the points have changed. Begins anew if the file has become shorter.
  bool Read();
  // Whether there was more than one call reads.
  bool behind() const { return behind_; }
  // As ParseMetrics.
  const std::vector<MetricPoint>& points() const { return points_; }

 private:
  const std::filesystem::path file_;
  std::uint64_t offset_ = 0;  // of the first byte that was not understood yet
  bool behind_ = false;
  std::vector<MetricPoint> points_;
};

// Never throws because of a directory's contents: each defect becomes a problem. Without `curves`
// metrics are the newest few, and the costs do not grow with the run.
LoadedRun LoadRun(const std::filesystem::path& dir, bool curves = true);

}  // namespace starling::results
