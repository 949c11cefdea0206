// A configuration's net, made concrete for the learner: its parameter layout and first weights.
#pragma once

#include "core/config.h"
#include "learner/learner.h"

namespace starling::fleet {

// Throws UserError if the environment is unknown or the net does not fit it.
net::ParameterLayout LayoutOf(const Config& config);
// Takes seconds for wide layers, whose first weights are orthogonal.
learner::NetBlueprint BlueprintOf(const Config& config);

}  // namespace starling::fleet
