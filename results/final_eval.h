// The evaluation of a run's final weights, kept in RUN/final_eval.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace starling::results {

struct FinalEval {
  std::string checkpoint;  // of the weights that played, relative to the run directory
  std::int64_t episodes = 0;
  double mean_return = 0, std = 0;
  friend bool operator==(const FinalEval&, const FinalEval&) = default;
};

// Returns nullopt if there is none that can be read.
std::optional<FinalEval> ReadFinalEval(const std::filesystem::path& run_dir);
// Throws std::system_error.
void WriteFinalEval(const std::filesystem::path& run_dir, const FinalEval& eval);

// Parses the output of `starling eval --json`, {"mean_return", "std", "episodes"}. Returns nullopt
// if `line` is no such object. `checkpoint` is the one that was evaluated.
std::optional<FinalEval> ParseEvalOutput(std::string_view line, const std::string& checkpoint);

// Keeps the result that is among the lines printed by an evaluation of `checkpoint`. Returns "", or
// why it could not.
std::string KeepEval(const std::filesystem::path& run_dir, const std::string& checkpoint,
                     std::span<const std::string> said);

}  // namespace starling::results
