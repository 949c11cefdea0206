// The net of a configuration: its parameter layout and first weights.
#pragma once

#include "core/config/config.h"
#include "learner/learner.h"

namespace starling::results {

// Throws UserError if the environment is unknown or the net does not fit it.
net::ParameterLayout LayoutOf(const Config& config);
// Takes the first weights from run.init_from, or draws them from run.seed: seconds for wide layers.
// Throws UserError as LoadFirstWeights (results/trained.h).
learner::InitialNet InitialNetOf(const Config& config);
// The same without first weights, for a resumed run.
learner::InitialNet InitialNetToResume(const Config& config);

}  // namespace starling::results
