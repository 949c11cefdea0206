// Bundled games on a GPU: the same source, thousands of copies side by side.
#pragma once

#include <memory>
#include <string>

#include "core/config/config.h"
#include "core/gpu.h"
#include "envs/env.h"

namespace starling::envs {

// Returns why the env of `config` cannot be played on a GPU ("env.pixels: ..."), or "" if it can: a
// bundled game without wrappers.
std::string WhyNotOnGpu(const EnvConfig& config);

// The envs that MakeVecEnv (envs/registry.h) makes of the same arguments, played in gpu's stream:
// the same actions give the same steps. The arrays of Reset and Step are in gpu.memory(). An action
// out of range is not reported; the nearest valid one is played. Reset and Step may be recorded
// (Gpu::Repeat); TakeEpisodes waits for the GPU. `steps` is the most Steps between two calls of
// TakeEpisodes (actors.unroll); the GPU keeps 24 bytes for each step and env. `gpu` must outlive
// the envs. Throws UserError if WhyNotOnGpu, and as MakeVecEnv.
std::unique_ptr<VecEnv> MakeGpuEnv(const EnvConfig& config, int num_envs, const EnvSeed& seed,
                                   int steps, Gpu& gpu);

}  // namespace starling::envs
