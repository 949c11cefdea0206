// The trained net that an operator means: a run directory or a checkpoint.
#pragma once

#include <filesystem>

#include "core/config.h"
#include "learner/checkpoint.h"

namespace starling::fleet {

struct Trained {
  Config config;  // of the run
  learner::Checkpoint checkpoint;
};

// `target` is a run directory (its newest good checkpoint) or a checkpoint. Throws UserError if it
// is neither, damaged, or holds another net than its configuration describes.
Trained LoadTrained(const std::filesystem::path& target);

}  // namespace starling::fleet
