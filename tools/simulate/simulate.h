// `starling simulate`: a fleet of any size in one process, in virtual time. Everything but the time
// is real; it leaves a run directory like any other (docs/virtual-time.md).
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
  std::optional<std::filesystem::path> times_from;  // a run whose mean times are taken
  std::string program = "starling";  // how to call it again, for the hints at the end
};

// Returns the exit status (core/error.h). Throws UserError before anything is made.
int RunSimulate(const SimulateOptions& options);

}  // namespace starling::simulate
