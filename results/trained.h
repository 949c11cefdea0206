// The trained net that an operator means: a run directory or a checkpoint.
#pragma once

#include <filesystem>

#include "core/config/config.h"
#include "learner/storage/checkpoint.h"

namespace starling::results {

struct FoundCheckpoint {
  std::filesystem::path path;
  learner::Checkpoint checkpoint;
};

// `target` is a run directory (its newest good checkpoint) or a checkpoint. Throws UserError if it
// is neither, or damaged.
FoundCheckpoint FindCheckpoint(const std::filesystem::path& target);

struct Trained {
  Config config;  // of the run
  learner::Checkpoint checkpoint;
};

// FindCheckpoint, to play with. Throws UserError also if it holds another net than its configuration
// describes.
Trained LoadTrained(const std::filesystem::path& target);

// The checkpoint of run.init_from, with whose weights a new run starts. Throws UserError in one
// sentence if there is none, or its net is not this configuration's.
FoundCheckpoint LoadFirstWeights(const Config& config);
// Before a run starts: run.init_from, if there is one, becomes the absolute path of one checkpoint, so
// that it still means the same when a run that it named has gone on. Throws as LoadFirstWeights.
void ResolveInitFrom(Config& config);

}  // namespace starling::results
