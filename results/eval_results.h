// The results of evaluations during training: a line for each in RUN/eval.jsonl, and the best
// weights in RUN/checkpoints/best.safetensors.
#pragma once

#include <compare>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "core/metrics.h"
#include "learner/storage/checkpoint.h"

namespace starling::results {

// One evaluation of the weights of one version.
struct EvalLine {
  std::uint64_t steps = 0;
  std::uint32_t term = 0;
  std::uint64_t version = 0;
  std::int64_t episodes = 0;
  double mean_return = 0, std = 0;
  double seconds = 0;  // duration of the evaluation

  // The larger one is of the newer weights.
  std::pair<std::uint32_t, std::uint64_t> age() const { return {term, version}; }
  friend bool operator==(const EvalLine&, const EvalLine&) = default;
};
nlohmann::ordered_json ToJson(const EvalLine& line);  // the keys are the members, in this order

// Returns the lines of eval.jsonl, oldest first, without damaged ones. `damaged` counts those,
// except for a last line without its end, as a killed writer leaves it.
std::vector<EvalLine> ReadEvalLines(const std::filesystem::path& run_dir, int* damaged = nullptr);

// `best` is the line of the weights in best.safetensors. A higher return whose weights could not be
// saved does not count.
struct EvalStanding {
  std::optional<EvalLine> best, last;
};
EvalStanding ReadEvalStanding(const std::filesystem::path& run_dir);

std::filesystem::path BestPath(const std::filesystem::path& run_dir);
// Removes the temporary files of a killed evaluator. REQUIRES: no evaluator is running.
void RemoveUnfinishedBest(const std::filesystem::path& run_dir);

// Keeps both. A write that a full disk refuses is logged, and tried again with the next result.
//
// Thread safety: one thread; one for each run.
class EvalResults {
 public:
  // Continues the files of an earlier evaluator of this run. Throws std::system_error if eval.jsonl
  // cannot be opened.
  explicit EvalResults(const std::filesystem::path& run_dir);

  const EvalStanding& standing() const { return standing_; }
  // Adds the result of the weights in `checkpoint`; keeps them if no earlier return was as high.
  void Add(const EvalLine& line, learner::Checkpoint checkpoint);

 private:
  void WriteLines();
  void SaveBest();

  const std::filesystem::path run_dir_;
  EvalStanding standing_;
  MetricsFile file_;
  std::vector<EvalLine> unwritten_;
  struct Unsaved {
    EvalLine line;
    learner::Checkpoint checkpoint;
  };
  std::optional<Unsaved> unsaved_;  // better than standing_.best
};

}  // namespace starling::results
