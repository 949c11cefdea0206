// The lock on a run directory: one learner at a time, also from other hosts or with other runtime
// directories. RUN/lock names its holder. Where the file system has no locks, the claims of terms
// (learner/storage/terms.h) still fence the earlier learner off.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/locked_file.h"

namespace starling::learner {

// Takes the lock on `run_dir`, until the returned object or the process ends. Throws UserError
// naming the holder if another learner has it, or if the file cannot be written.
LockedFile LockRun(const std::filesystem::path& run_dir);
// Returns the holder of the lock, as "process id 12 on host"; "an unknown process id" if the file
// does not say; nullopt if the lock is free.
std::optional<std::string> LockHolder(const std::filesystem::path& run_dir);

}  // namespace starling::learner
