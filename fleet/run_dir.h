// The directory that a run leaves behind (docs: "A run leaves behind").
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/config.h"

namespace starling::fleet {

// Creates a new, empty run directory and returns it. One that `wanted` names exactly
// (`may_number` false) may exist if it is empty; otherwise "-2", "-3" ... is appended until there
// is none of that name. Safe against another process doing the same. Throws UserError naming the
// directory if it is in use, or cannot be created or written.
std::filesystem::path CreateRunDir(const std::filesystem::path& wanted, bool may_number);

// Whether a learner could go on here: any checkpoint under run_dir/checkpoints.
bool HasCheckpoint(const std::filesystem::path& run_dir);

// Throws UserError unless `run_dir` is a run with a configuration and a checkpoint.
void CheckResumable(const std::filesystem::path& run_dir);

// Steps and final checkpoint that run_dir/summary.json tells; nothing if there is none to be read.
struct EarlierSummary {
  std::uint64_t steps = 0;
  std::string final_checkpoint;
};
std::optional<EarlierSummary> ReadEarlierSummary(const std::filesystem::path& run_dir);

// Writes run_dir/config.toml, atomically. Throws UserError naming it if it cannot.
void WriteConfig(const std::filesystem::path& run_dir, const Config& config);

}  // namespace starling::fleet
