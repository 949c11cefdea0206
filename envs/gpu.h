// Bundled games on a GPU: the same source, thousands of copies side by side.
#pragma once

#include <memory>
#include <string>

#include "core/config/config.h"
#include "core/gpu.h"
#include "envs/env.h"

namespace starling::envs {

// Why the env that `config` describes cannot be played on a GPU, "env.pixels draws ..."; "" if it can:
// a bundled game that compiles for one, without wrappers.
std::string WhyNotOnGpu(const EnvConfig& config);

// The envs that MakeVecEnv (envs/registry.h) makes of the same arguments, step for step the same for the
// same actions, played in gpu's stream: the arrays of Reset and Step are in gpu.memory(), and an action
// out of range is not found but played as the nearest that there is. Reset and Step may be recorded
// (Gpu::Repeat); TakeEpisodes waits for the GPU. `steps`: the most Steps between two calls of it, as
// actors.unroll; for what may end in them the GPU keeps 24 bytes for each step and env. `gpu` must
// outlive the envs. Throws UserError if WhyNotOnGpu, and as MakeVecEnv.
std::unique_ptr<VecEnv> MakeGpuEnv(const EnvConfig& config, int num_envs, const EnvSeed& seed,
                                   int steps, Gpu& gpu);

}  // namespace starling::envs
