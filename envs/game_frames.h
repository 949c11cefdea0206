// A bundled game below the wrappers: the same envs, with the same draws, as VecGame plays
// (envs/vec_env.h), one frame at a time.
#pragma once

#include <vector>

#include "core/check.h"
#include "core/config.h"
#include "envs/frames.h"
#include "envs/vec_env.h"

namespace starling::envs {

template <Game G>
class GameFrames final : public FrameEnvs {
 public:
  GameFrames(int num_envs, const EnvSeed& seed, const EnvConfig& config)
      : spec_{.env = SpecWith<G>(config)},
        players_(MakePlayers<G>(num_envs, seed, config)),
        results_(players_.size()),
        frames_(players_.size() * row()) {}

  const FrameSpec& spec() const override { return spec_; }
  int size() const override { return static_cast<int>(players_.size()); }

  void Advance(std::span<const std::int32_t> commands) override {
    CHECK(commands.size() == players_.size(), "{} commands", commands.size());
    for (std::size_t i = 0; i < players_.size(); ++i) {
      if (commands[i] == kSkip) continue;
      results_[i] = {};
      if (commands[i] == kReset) {
        players_[i].Restart();
      } else {
        CHECK(commands[i] >= 0 && commands[i] < spec_.env.num_actions, "command {}", commands[i]);
        const Outcome outcome = players_[i].Play(commands[i]);
        results_[i] = {.reward = outcome.reward,
                       .end = outcome.terminal ? End::kTerminated : End::kRunning};
      }
      players_[i].game.Observe(&frames_[i * row()]);
    }
  }

  const FrameResult& result(int env) const override {
    return results_[static_cast<std::size_t>(env)];
  }
  std::span<const std::uint8_t> bytes(int) const override { return {}; }
  std::span<const float> floats(int env) const override {
    return std::span(frames_).subspan(static_cast<std::size_t>(env) * row(), row());
  }

 private:
  std::size_t row() const { return static_cast<std::size_t>(spec_.env.obs_size()); }

  FrameSpec spec_;
  std::vector<Player<G>> players_;
  std::vector<FrameResult> results_;
  std::vector<float> frames_;  // (B, H, W, C)
};

}  // namespace starling::envs
