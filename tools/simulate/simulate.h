// `starling simulate`: trains with a fleet of any size in one process, in virtual time. All but the
// time is real, and the run directory is like any other (docs/virtual-time.md).
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace starling::simulate {

struct SimulateOptions {
  std::filesystem::path config;
  std::vector<std::string> overrides;               // "section.key=value"
  std::optional<std::filesystem::path> run_dir;     // refused if it exists and is not empty
  std::optional<std::filesystem::path> times_from;  // a run with the mean times to use
  std::string program = "starling";                 // as called, for the hints at the end
};

// Returns the exit status (core/error.h). Throws UserError before it creates anything.
int RunSimulate(const SimulateOptions& options);

}  // namespace starling::simulate
