// What an actor's net and its environments run on: the processor, or a GPU.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "core/config/config.h"
#include "core/gpu.h"
#include "envs/env.h"
#include "net/backend.h"

namespace starling::actors {

// Whether actors.backend means a GPU on this machine. Throws UserError if one is asked for and none can
// be used.
bool UsesGpu(const Config& config);

// Of the net's products in actors.
net::Precision PrecisionOf(const Config& config);

struct Replica {
  std::unique_ptr<Gpu> gpu;  // null: the processor
  std::unique_ptr<net::Backend<float>> backend;
};

// GPUs are dealt to slots in turn: which of so many, at least one.
int GpuOf(std::uint32_t slot, std::size_t gpus);

// Throws UserError as OpenGpu and the backend.
Replica MakeReplica(const Config& config, std::uint32_t slot);

// B = actors.envs_per_actor envs whose arrays are those of replica's backend: on the GPU, or on the host
// and moved there and back. Throws UserError as envs::MakeVecEnv, or if actors.env_device asks for what
// cannot be.
std::unique_ptr<envs::VecEnv> MakeEnv(const Config& config, const Replica& replica,
                                      const envs::EnvSeed& seed,
                                      const envs::WhileWaiting& while_waiting);

// The same at the pace that env.step_ms sets (envs/paced.h), if it sets one: for an actor at work.
std::unique_ptr<envs::VecEnv> MakePacedEnv(const Config& config, const Replica& replica,
                                           const envs::EnvSeed& seed,
                                           const envs::WhileWaiting& while_waiting);

// Whether the envs of `config` are played on the GPU of an actor that uses one. Throws UserError if they
// are to be and cannot.
bool PlaysOnGpu(const Config& config);

}  // namespace starling::actors
