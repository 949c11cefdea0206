// What evaluations during training leave behind: a line each in RUN/eval.jsonl, and the weights that
// did best in RUN/checkpoints/best.safetensors.
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
  double seconds = 0;  // that it took

  // Which of two weights are newer.
  std::pair<std::uint32_t, std::uint64_t> age() const { return {term, version}; }
  friend bool operator==(const EvalLine&, const EvalLine&) = default;
};
nlohmann::ordered_json ToJson(const EvalLine& line);  // the keys are the members, in this order

// The lines of eval.jsonl, oldest first; what is none (the end of a killed writer's) is passed over.
// `damaged` counts such lines but for one that does not end.
std::vector<EvalLine> ReadEvalLines(const std::filesystem::path& run_dir, int* damaged = nullptr);

// `best` is the line of the weights that are in best.safetensors: a higher return whose weights could
// not be saved is not it.
struct EvalStanding {
  std::optional<EvalLine> best, last;
};
EvalStanding ReadEvalStanding(const std::filesystem::path& run_dir);

std::filesystem::path BestPath(const std::filesystem::path& run_dir);
// What a killed evaluator left beside best.safetensors. None may be at work.
void RemoveUnfinishedBest(const std::filesystem::path& run_dir);

// Keeps both. What a full disk refuses is said, kept in memory and tried again with the next result.
//
// Thread safety: one thread; one for each run.
class EvalResults {
 public:
  // Goes on where an evaluator of this run ended. Throws std::system_error if eval.jsonl cannot be
  // opened.
  explicit EvalResults(const std::filesystem::path& run_dir);

  const EvalStanding& standing() const { return standing_; }
  // Of weights in `checkpoint`, which are kept as the best if there were none with as high a return.
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
