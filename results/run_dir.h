// The directory of a run, and the lock that keeps a second writer out of one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

#include "core/config/config.h"
#include "core/file_descriptor.h"

namespace starling::results {

// Creates an empty run directory and returns it. With `may_number` it appends "-2", "-3", ... until
// the name is free; else `wanted` may exist if it is empty. One that holds nothing but a start that
// failed before its first checkpoint counts as free, and is emptied. Safe against another process
// that does the same. Throws UserError with the directory's name if it is in use, or cannot be
// created or written.
std::filesystem::path CreateRunDir(const std::filesystem::path& wanted, bool may_number);

// Returns whether `dir` holds only the files of a start that failed before its first checkpoint.
// CreateRunDir empties it.
bool IsFailedStart(const std::filesystem::path& dir);

// Returns whether `run_dir` is empty or does not exist. The probe of a `starling train` that was
// killed in its first moments does not count, nor does the lost+found of a new volume.
bool IsUnused(const std::filesystem::path& run_dir);

// Returns whether `path` is, or would be, a file that a run or a sweep writes, so that another
// program must not write it.
bool IsFileOfARun(const std::filesystem::path& path);

// Removes what killed writers left beside the run's own files; those below checkpoints/ are the
// learner's. REQUIRES: the caller holds the lock of run_dir/log.
void RemoveTemporaries(const std::filesystem::path& run_dir);

// Marks a run in virtual time, before its first other file: it must never be resumed or counted as
// a real one, even if other files are lost. `by`: the command that makes it.
void MarkSimulated(const std::filesystem::path& run_dir, std::string_view by);
bool IsSimulated(const std::filesystem::path& run_dir);

// Returns whether `path` is a good checkpoint of at least `steps` steps.
bool IsCheckpointOf(const std::filesystem::path& path, std::uint64_t steps);

// Returns whether there is any checkpoint under run_dir/checkpoints.
bool HasCheckpoint(const std::filesystem::path& run_dir);
// Returns the newest one, relative to the run directory; "" if there is none.
std::string NewestCheckpoint(const std::filesystem::path& run_dir);

// Throws UserError unless `run_dir` is a run with a configuration and a checkpoint.
void CheckResumable(const std::filesystem::path& run_dir);

// Writes run_dir/config.toml, atomically. Throws UserError naming it if it cannot.
void WriteConfig(const std::filesystem::path& run_dir, const Config& config);

// Finds a run directory again, whatever is done to its name.
class HeldDir {
 public:
  // REQUIRES: `path` is a directory.
  explicit HeldDir(const std::filesystem::path& path);
  // Returns the path given while it names the same directory, else where that was moved to, or
  // nullopt if it was deleted.
  std::optional<std::filesystem::path> Find() const;

 private:
  std::filesystem::path path_;
  FileDescriptor dir_;
};

}  // namespace starling::results
