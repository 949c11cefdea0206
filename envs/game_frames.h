// A bundled game below the wrappers: the same envs, with the same draws, as VecGame plays
// (envs/vec_env.h).
#pragma once

#include <vector>

#include "core/check.h"
#include "core/config/config.h"
#include "envs/frames.h"
#include "envs/vec_env.h"

namespace starling::envs {

template <Game G>
class GameFrames final : public FrameEnvs {
 public:
  GameFrames(int num_envs, const EnvSeed& seed, const EnvConfig& config)
      : FrameEnvs(RepeatOf(config)),
        spec_{.env = SpecWith<G>(config)},
        players_(MakePlayers<G>(num_envs, seed, config)),
        results_(players_.size()),
        frames_(players_.size(), spec_.env.row(), repeat().keep_before) {}

  const FrameSpec& spec() const override { return spec_; }
  int size() const override { return static_cast<int>(players_.size()); }
  const FrameResult& result(int env) const override { return At(results_, env); }
  std::span<const std::uint8_t> bytes(int) const override { return {}; }
  std::span<const float> floats(int env) const override { return frames_.newest(env); }
  std::span<const float> floats_before(int env) const override { return frames_.before(env); }

 private:
  void Play(std::span<const std::int32_t> commands, int frames) override {
    for (int i = 0; i < size(); ++i) {
      const std::int32_t command = At(commands, i);
      if (command != kSkip) At(results_, i) = Obey(i, command, frames);
    }
  }

  FrameResult Obey(int i, std::int32_t command, int frames) {
    Player<G>& player = At(players_, i);
    if (command == kReset) {
      player.Restart();
      player.game.Observe(frames_.Next(i).data());
      return {};
    }
    CHECK(command >= 0 && command < spec_.env.num_actions, "command {}", command);
    return PlayRepeated(repeat(), frames, 0, [&]() -> FrameResult {
      const Outcome outcome = player.Play(command);
      player.game.Observe(frames_.Next(i).data());
      return {.reward = outcome.reward, .end = outcome.end()};
    });
  }

  FrameSpec spec_;
  std::vector<Player<G>> players_;
  std::vector<FrameResult> results_;
  KeptFrames<float> frames_;
};

}  // namespace starling::envs
