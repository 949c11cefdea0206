// The net that a run starts with, and whether the run can be resumed exactly or replayed.
#pragma once

#include <filesystem>
#include <string>

#include "core/config/config.h"
#include "learner/storage/start.h"
#include "results/trained.h"

namespace starling::results {

// Takes the first weights from run.init_from, or draws them from run.seed: seconds for wide layers.
// Throws UserError as LoadFirstWeights.
learner::InitialNet InitialNetOf(const Config& config);
// The same without first weights, for a resumed run: an external net is that of its checkpoints.
learner::InitialNet InitialNetToResume(const Config& config, const std::filesystem::path& run_dir);

// Returns why a run of this configuration does not go on from its checkpoints to the same bits
// (checkpoint.exact), or "" if it does. Throws UserError if the environment is unknown.
std::string WhyNotExact(const Config& config);

// Returns why no run of this configuration can be replayed, or "": also that its plug-in cannot be
// loaded.
std::string WhyNotReplayed(const Config& config);

// Returns "; its journal may make one: starling replay RUN --from-checkpoint --write" for a run
// without a good checkpoint, or "" if it cannot be redone from its beginning. Throws as LoadConfig.
std::string WayToACheckpoint(const std::filesystem::path& run_dir);

// Returns the checkpoint of run.init_from: the first weights of a new run. Throws UserError with
// one sentence if there is none, or if its net is not this configuration's, or has learnt from
// other numbers.
FoundCheckpoint LoadFirstWeights(const Config& config);
// Turns run.init_from, if it is set, into the absolute path of one checkpoint: a run directory
// named there may get newer checkpoints later. Makes net.initial absolute, too. Throws as
// LoadFirstWeights, and UserError if the file net.initial is no net.
void ResolveFirstWeights(Config& config);

}  // namespace starling::results
