// What the final weights of a run are worth, kept beside them: RUN/final_eval.json.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace starling::fleet {

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
// such object. `checkpoint` is left empty.
std::optional<FinalEval> ParseEvalOutput(std::string_view line);

}  // namespace starling::fleet
