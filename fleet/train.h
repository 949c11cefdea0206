// `starling train`: checks everything that can be checked, makes the run directory, supervises the
// run and writes its summary.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace starling::fleet {

// The display of the progress, besides messages. Without a terminal all but kNone act as kLines.
enum class ShowProgress : std::uint8_t {
  kScreen,  // charts, actors and the bottleneck; the bar if the terminal is too small
  kBar,
  kLines,  // a plain line every five seconds
  kNone,
};

struct TrainOptions {
  std::filesystem::path config;                  // not with `resume`
  std::vector<std::string> overrides;            // "section.key=value"
  std::optional<std::filesystem::path> run_dir;  // refused if it exists and is not empty
  std::optional<std::filesystem::path> resume;   // a run directory
  bool continues = false;   // resume the run in its directory if it has a checkpoint, else begin
  std::string init_from{};  // over run.init_from; not with `resume`
  bool no_actors = false;   // all actors come from elsewhere
  ShowProgress progress = ShowProgress::kScreen;
  std::filesystem::path programs{};  // where starling-learner and the others are
  std::string program = "starling";  // its name on the command line, for the hints at the end
};

// Returns the exit status (core/error.h). Throws UserError before the first process is started.
int RunTrain(const TrainOptions& options);

}  // namespace starling::fleet
