// The results of evaluations. During training: a line for each in RUN/eval.jsonl, and the best
// weights in RUN/checkpoints/best.safetensors. Of the final weights: RUN/final_eval.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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

// How final weights are evaluated.
struct EvalPlan {
  std::int64_t episodes = 0;  // 0: not at all
  bool greedy = false;        // the likeliest action instead of a drawn one
  friend bool operator==(const EvalPlan&, const EvalPlan&) = default;
};

struct FinalEval {
  std::string checkpoint;  // of the weights that played, relative to the run directory
  EvalPlan played{};
  double mean_return = 0, std = 0;
  friend bool operator==(const FinalEval&, const FinalEval&) = default;
};

// Returns nullopt if there is none that can be read.
std::optional<FinalEval> ReadFinalEval(const std::filesystem::path& run_dir);
// Throws std::system_error.
void WriteFinalEval(const std::filesystem::path& run_dir, const FinalEval& eval);

// Parses a line that `starling eval --json` prints. It is an object with the keys "mean_return",
// "std", "episodes" and "greedy". Earlier versions wrote no "greedy": they drew their actions.
// Returns nullopt if `line` is no such object. `checkpoint` is the one that was evaluated.
std::optional<FinalEval> ParseEvalOutput(std::string_view line, const std::string& checkpoint);

// Keeps the result that is among the lines printed by an evaluation of `checkpoint`. Returns "", or
// why it could not.
std::string KeepEval(const std::filesystem::path& run_dir, const std::string& checkpoint,
                     std::span<const std::string> said);

}  // namespace starling::results
