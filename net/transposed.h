// Finds pictures that a user has forgotten to transpose: with channels first, not last. A net that
// fits such a shape trains on it, but badly.
#pragma once

#include <string>

#include "net/layers/layer.h"
#include "net/stack.h"

namespace starling::net {

// Whether a shape (height, width, channels) is more likely (channels, height, width).
bool ChannelsComeFirst(const Features& shape);

// Returns a sentence if the net of `spec` convolves such a shape; else "". Throws UserError as
// PlanLayers.
std::string WhyTranspose(const ModelSpec& spec);

}  // namespace starling::net
