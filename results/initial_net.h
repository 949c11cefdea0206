// A configuration's net, made concrete for the learner: its parameter layout and first weights.
#pragma once

#include "core/config/config.h"
#include "learner/learner.h"

namespace starling::results {

// Throws UserError if the environment is unknown or the net does not fit it.
net::ParameterLayout LayoutOf(const Config& config);
// The first weights are those of run.init_from, or drawn from run.seed, which takes seconds for wide
// layers. Throws the UserErrors of results/trained.h.
learner::NetBlueprint BlueprintOf(const Config& config);
// To go on with a run: without first weights.
learner::NetBlueprint BlueprintToResume(const Config& config);

}  // namespace starling::results
