// The directory that a run leaves behind (docs: "A run leaves behind").
#pragma once

#include <cstdint>
#include <filesystem>

#include "core/config/config.h"

namespace starling::results {

// Creates a new, empty run directory and returns it. One that `wanted` names exactly
// (`may_number` false) may exist if it is empty; otherwise "-2", "-3" ... is appended until there
// is none of that name. Safe against another process doing the same. Throws UserError naming the
// directory if it is in use, or cannot be created or written.
std::filesystem::path CreateRunDir(const std::filesystem::path& wanted, bool may_number);

// Whether there is nothing in `run_dir` but what a `starling train` that was killed in its first
// moments left; true if it does not exist.
bool IsUnused(const std::filesystem::path& run_dir);

// A run in virtual time carries a mark from its first moment on, so that whatever becomes of its other
// files it is never gone on with, or counted, as a real one.
void MarkSimulated(const std::filesystem::path& run_dir);
bool IsSimulated(const std::filesystem::path& run_dir);

// Whether `path` is a good checkpoint of no fewer than so many steps.
bool IsCheckpointOf(const std::filesystem::path& path, std::uint64_t steps);

// Whether a learner could go on here: any checkpoint under run_dir/checkpoints.
bool HasCheckpoint(const std::filesystem::path& run_dir);

// Throws UserError unless `run_dir` is a run with a configuration and a checkpoint.
void CheckResumable(const std::filesystem::path& run_dir);

// Writes run_dir/config.toml, atomically. Throws UserError naming it if it cannot.
void WriteConfig(const std::filesystem::path& run_dir, const Config& config);

}  // namespace starling::results
