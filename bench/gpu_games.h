// The speed of games on a GPU.
#pragma once

#include "core/gpu.h"
#include "envs/env.h"

namespace starling::bench {

// Returns the nanoseconds of a step of one env, the median of `seconds` of repeated unrolls of
// `steps` steps of all envs with random actions. The time to count the ended
// episodes and to fetch the newest counts.
double GameStepNs(Gpu& gpu, envs::VecEnv& games, int steps, double seconds);

}  // namespace starling::bench
