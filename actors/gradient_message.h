// The message that describes one gradient: everything but grant, buffer and the times of the wire.
#pragma once

#include "actors/rollout.h"
#include "wire/protocol.h"

namespace starling::actors {

// Of more than wire::kMaxEpisodes episodes some are left out, evenly.
wire::Gradient GradientMessage(const RolloutGradient& gradient, RolloutEpisodes episodes);

}  // namespace starling::actors
