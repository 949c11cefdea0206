// The message that describes one gradient, without its grant, its buffer and the times of the wire.
#pragma once

#include "actors/rollout.h"
#include "wire/protocol.h"

namespace starling::actors {

// Describes `gradient`. Of more than wire::kMaxEpisodes episodes it keeps that many, evenly spaced.
wire::Gradient GradientMessage(const RolloutGradient& gradient, RolloutEpisodes episodes);

}  // namespace starling::actors
