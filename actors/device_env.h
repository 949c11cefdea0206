// Envs on the host for a net on a GPU: fetches the actions from the GPU, plays, and sends the
// results there.
//
// The arrays of Reset and Step are in the GPU's memory. A step waits for its actions, so the GPU
// has finished all earlier work when the envs are stepped.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/memory.h"
#include "envs/env.h"

namespace starling::actors {

class DeviceEnv final : public envs::VecEnv {
 public:
  // `memory` is the GPU's and must outlive this object.
  DeviceEnv(std::unique_ptr<envs::VecEnv> env, Memory& memory);

  const envs::EnvSpec& spec() const override { return env_->spec(); }
  int size() const override { return env_->size(); }
  void Reset(std::span<float> observations) override;
  void Step(std::span<const std::int32_t> actions, std::span<float> observations,
            std::span<float> rewards, std::span<std::uint8_t> terminals) override;
  // Observations in memory.host_side().
  std::span<const envs::Truncated> truncated() const override { return truncated_; }
  void TakeEpisodes(std::vector<envs::EpisodeEnd>& out) override { env_->TakeEpisodes(out); }
  std::uint64_t replaced() const override { return env_->replaced(); }
  std::unique_ptr<envs::VecEnv> Clone() const override { return nullptr; }

 private:
  void KeepTruncated();

  std::unique_ptr<envs::VecEnv> env_;
  Memory& memory_;
  // In memory.host_side(), which the GPU accesses directly.
  Buffer<std::int32_t> actions_;      // (B)
  Buffer<float> observations_;        // (B, H, W, C)
  Buffer<float> rewards_;             // (B)
  Buffer<std::uint8_t> terminals_;    // (B)
  Buffer<float> final_observations_;  // (B, H, W, C); empty before the first truncation
  std::vector<envs::Truncated> truncated_;
};

}  // namespace starling::actors
