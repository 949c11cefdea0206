// Where a learner starts from: first weights, or the last good checkpoint; always in a new term.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "learner/apply/training_state.h"
#include "learner/counters.h"
#include "learner/storage/checkpoint.h"
#include "net/parameters.h"

namespace starling::learner {

// The net of a run, as the learner needs it: where parameters are and how they start.
struct NetBlueprint {
  net::ParameterLayout layout;
  std::vector<float> initial;
};

struct Start {
  TrainingState state;
  Counters counters;
  std::optional<std::uint64_t> cut_journal_at;
  std::string checkpoint;  // the one resumed from, relative to the run directory; "" = none
};

// Returns `content` as a checkpoint, with the optimizer's state filled up with zeros if it has not
// begun.
Checkpoint CheckpointOf(const Config& config, const net::ParameterLayout& layout,
                        CheckpointContent content);

// Throws UserError if a learner cannot start like this: to resume there must be a good checkpoint,
// of this net, optimizer and seed; to begin there must be none. Changes nothing.
void CheckStart(const Config& config, const NetBlueprint& net, const std::filesystem::path& run_dir,
                bool resume);

// CheckStart, and then the start itself, in a new term. Logs which checkpoint it is and which were
// passed over as damaged.
Start FindStart(const Config& config, const NetBlueprint& net, const std::filesystem::path& run_dir,
                bool resume);

}  // namespace starling::learner
