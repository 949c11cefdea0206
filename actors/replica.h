// The device of an actor's net and environments: the processor, or a GPU.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "core/config/config.h"
#include "core/gpu.h"
#include "envs/env.h"
#include "net/backend.h"

namespace starling::actors {

// Whether actors.backend means a GPU on this machine. Throws UserError if it requires one and none
// is usable.
bool UsesGpu(const Config& config);

struct Replica {
  std::unique_ptr<Gpu> gpu;  // nullptr: the processor
  std::unique_ptr<net::Backend<float>> backend;
};

// The GPU of `slot`: they are dealt in turn. REQUIRES: gpus >= 1.
int GpuOf(std::uint32_t slot, std::size_t gpus);

// Throws UserError as OpenGpu and the backend.
Replica MakeReplica(const Config& config, std::uint32_t slot);

// B = actors.envs_per_actor envs whose arrays are in the memory of replica's backend. The envs are
// played on the GPU, or on the host with copies there and back. Throws UserError as
// envs::MakeVecEnv, or if actors.env_device is impossible.
std::unique_ptr<envs::VecEnv> MakeEnv(const Config& config, const Replica& replica,
                                      const envs::EnvSeed& seed,
                                      const envs::WhileWaiting& while_waiting);

// The same at the pace of env.step_ms (envs/paced.h), if it is set: for a working actor.
std::unique_ptr<envs::VecEnv> MakePacedEnv(const Config& config, const Replica& replica,
                                           const envs::EnvSeed& seed,
                                           const envs::WhileWaiting& while_waiting);

// Whether an actor with a GPU plays the envs of `config` there. Throws UserError if
// actors.env_device requires it and it is impossible.
bool PlaysOnGpu(const Config& config);

}  // namespace starling::actors
