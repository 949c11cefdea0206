// Envs on the host for a net on a GPU: actions are fetched from there, what they lead to is sent there.
//
// The arrays of Reset and Step are in the GPU's memory. A step waits for its actions, so everything asked
// of the GPU before is done when the envs are stepped.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/buffer.h"
#include "envs/env.h"

namespace starling::actors {

class StagedEnv final : public envs::VecEnv {
 public:
  // `memory`: the GPU's; it must outlive this.
  StagedEnv(std::unique_ptr<envs::VecEnv> env, Memory& memory);

  const envs::EnvSpec& spec() const override { return env_->spec(); }
  int size() const override { return env_->size(); }
  void Reset(std::span<float> observations) override;
  void Step(std::span<const std::int32_t> actions, std::span<float> observations,
            std::span<float> rewards, std::span<std::uint8_t> terminals) override;
  // In memory.host_side(), ready to be sent.
  std::span<const envs::Truncated> truncated() const override { return truncated_; }
  void TakeEpisodes(std::vector<envs::EpisodeEnd>& out) override { env_->TakeEpisodes(out); }
  std::uint64_t replaced() const override { return env_->replaced(); }
  std::unique_ptr<envs::VecEnv> Clone() const override { return nullptr; }

 private:
  void KeepTruncated();

  std::unique_ptr<envs::VecEnv> env_;
  Memory& memory_;
  // Of the host, where the GPU reads and writes by itself.
  Buffer<std::int32_t> actions_;      // (B)
  Buffer<float> observations_;        // (B, H, W, C)
  Buffer<float> rewards_;             // (B)
  Buffer<std::uint8_t> terminals_;    // (B)
  Buffer<float> final_observations_;  // (B, H, W, C), once an episode was truncated
  std::vector<envs::Truncated> truncated_;
};

}  // namespace starling::actors
