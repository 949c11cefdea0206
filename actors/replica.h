// The device of an actor's net and environments: the processor, or a GPU.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "core/gpu.h"
#include "core/memory.h"
#include "envs/env.h"
#include "net/backend.h"

namespace starling::actors {

// Whether actors.backend means a GPU on this machine (ChooseBackend). Throws UserError if it
// requires one and none is usable.
bool UsesGpu(const Config& config);

struct Replica {
  std::unique_ptr<Gpu> gpu;  // nullptr: the processor
  std::unique_ptr<net::Backend<float>> backend;
  // Makes those of the stages above the first (net.stages), on the calling thread.
  std::function<Replica(int stage)> next{};
};

// The GPU of a stage of `slot`: they are dealt in turn. REQUIRES: gpus >= 1.
int GpuOf(std::uint32_t slot, std::size_t gpus, int stage = 0, int stages = 1);

// Throws UserError as OpenGpu and the backend; so does `next`.
Replica MakeReplica(const Config& config, std::uint32_t slot);

// The envs of an actor in groups, in the order of the envs. The groups are stepped in turns. An env
// has the same random streams in any group.
using EnvGroups = std::vector<std::unique_ptr<envs::VecEnv>>;

// Makes the groups of `config`: `make(envs, seed)` returns one of so many envs, whose streams are
// those of `seed`. They are as equal as can be. An actor with fewer envs than groups
// (starling-actor --envs) has groups of one.
using MakeGroup = std::function<std::unique_ptr<envs::VecEnv>(int envs, const envs::EnvSeed& seed)>;
EnvGroups MakeGroups(const Config& config, const envs::EnvSeed& seed, const MakeGroup& make);

// B = actors.envs_per_actor envs in actors.groups groups, whose arrays are in the memory of
// replica's backend. The envs are played on the GPU, or on the host with copies there and back. A
// pace (env.step_ms) is a part of their state, but takes no time. Throws UserError as
// envs::MakeVecEnv, or if actors.env_device is impossible.
EnvGroups MakeEnvs(const Config& config, const Replica& replica, const envs::EnvSeed& seed,
                   const envs::WhileWaiting& while_waiting);

// The same, in the time of the pace, too (envs/paced.h): for a working actor.
EnvGroups MakePacedEnvs(const Config& config, const Replica& replica, const envs::EnvSeed& seed,
                        const envs::WhileWaiting& while_waiting);

// Whether an actor with a GPU plays the envs of `config` there. Throws UserError if
// actors.env_device requires it and it is impossible.
bool PlaysOnGpu(const Config& config);

// Envs on the host for a net on a GPU: fetches the actions from the GPU, plays, and sends the
// results there.
//
// The arrays of Reset and Step are in the GPU's memory. A step waits for its actions, so the GPU
// has finished all earlier work when the envs are stepped.
class DeviceEnv final : public envs::VecEnv {
 public:
  // `memory` is the GPU's and must outlive this object.
  DeviceEnv(std::unique_ptr<envs::VecEnv> env, Memory& memory);

  const envs::EnvSpec& spec() const override { return env_->spec(); }
  int size() const override { return env_->size(); }
  void Reset(std::span<float> observations) override;
  void StepAsync(std::span<const std::int32_t> actions) override;
  void StepWait(std::span<float> observations, std::span<float> rewards,
                std::span<std::uint8_t> terminals) override;
  // Observations in memory.host_side().
  std::span<const envs::Truncated> truncated() const override { return truncated_; }
  void TakeEpisodes(std::vector<envs::EpisodeEnd>& out) override { env_->TakeEpisodes(out); }
  std::uint64_t replaced() const override { return env_->replaced(); }
  std::int64_t waited_ns() const override { return env_->waited_ns(); }
  std::string WhyNotSaved() const override { return env_->WhyNotSaved(); }
  void Fields(StateBytes& state) override;

 private:
  std::size_t Envs() const { return static_cast<std::size_t>(env_->size()); }
  void KeepTruncated();

  std::unique_ptr<envs::VecEnv> env_;
  Memory& memory_;
  // In memory.host_side(), which the GPU accesses directly.
  Buffer<std::int32_t> actions_;      // (B, words)
  Buffer<float> observations_;        // (B, row)
  Buffer<float> rewards_;             // (B)
  Buffer<std::uint8_t> terminals_;    // (B)
  Buffer<float> final_observations_;  // (B, row); empty before the first truncation
  std::vector<envs::Truncated> truncated_;
};

}  // namespace starling::actors
