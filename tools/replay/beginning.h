// Where a replay begins: with the first weights of the run, or at a cut (learner/storage).
//
// Thread safety: the functions share nothing but the run directory.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "core/config/config.h"
#include "learner/counters.h"
#include "learner/storage/checkpoint.h"
#include "learner/storage/journal.h"
#include "net/parameters.h"

namespace starling::replay {

struct Beginning {
  learner::TrainingState state{};
  double entropy = 0;                            // coefficient at its version
  std::optional<learner::ActorStates> actors{};  // nullopt: the run begins
  learner::JournalPosition journal{};            // nowhere: its beginning
  learner::Counters counters{};
  std::string name{};  // "checkpoints/t0001-v000000001200.safetensors"
};

// Throws UserError if `run_dir` is no run directory.
Config ConfigOfRun(const std::filesystem::path& run_dir);

// The first weights of the run. Throws UserError if run.init_from is gone.
Beginning AtFirstWeights(const Config& config);
// A checkpoint with its actors.
Beginning AtCut(const learner::Checkpoint& cut, const std::filesystem::path& path);

// Returns the newest cut of the run, or nullopt.
std::optional<Beginning> AtNewestCut(const std::filesystem::path& run_dir);
// Returns the oldest cut from which the journal is there, or nullopt.
std::optional<Beginning> AtOldestCut(const std::filesystem::path& run_dir);
// Returns the newest of those that is not after `version`, or nullopt.
std::optional<Beginning> AtNewestCutUpTo(const std::filesystem::path& run_dir,
                                         std::uint64_t version);

}  // namespace starling::replay
