// What the final weights of a run are worth, kept beside them: RUN/final_eval.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace starling::results {

struct FinalEval {
  std::string checkpoint;  // whose weights played, relative to the run directory
  std::int64_t episodes = 0;
  double mean_return = 0, std = 0;
  friend bool operator==(const FinalEval&, const FinalEval&) = default;
};

// Nothing if there is none that can be read.
std::optional<FinalEval> ReadFinalEval(const std::filesystem::path& run_dir);
// Throws std::system_error.
void WriteFinalEval(const std::filesystem::path& run_dir, const FinalEval& eval);

// What `starling eval --json` prints, {"mean_return", "std", "episodes"}; nothing if `line` is no
// such object. `checkpoint` is that which was evaluated.
std::optional<FinalEval> ParseEvalOutput(std::string_view line, const std::string& checkpoint);

// Keeps the result among the lines that an evaluation of `checkpoint` printed. "", or why not.
std::string KeepEval(const std::filesystem::path& run_dir, const std::string& checkpoint,
                     std::span<const std::string> said);

}  // namespace starling::results
