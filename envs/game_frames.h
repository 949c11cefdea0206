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
        frames_(players_.size(), static_cast<std::size_t>(spec_.env.obs_size()),
                repeat().keep_before) {}

  const FrameSpec& spec() const override { return spec_; }
  int size() const override { return static_cast<int>(players_.size()); }
  const FrameResult& result(int env) const override {
    return results_[static_cast<std::size_t>(env)];
  }
  std::span<const std::uint8_t> bytes(int) const override { return {}; }
  std::span<const float> floats(int env) const override { return frames_.newest(env); }
  std::span<const float> floats_before(int env) const override { return frames_.before(env); }

 private:
  void Play(std::span<const std::int32_t> commands, int frames) override {
    for (int i = 0; i < size(); ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (commands[at] != kSkip) results_[at] = Obey(i, commands[at], frames);
    }
  }

  FrameResult Obey(int i, std::int32_t command, int frames) {
    Player<G>& player = players_[static_cast<std::size_t>(i)];
    if (command == kReset) {
      player.Restart();
      player.game.Observe(frames_.Next(i).data());
      return {};
    }
    CHECK(command >= 0 && command < spec_.env.num_actions, "command {}", command);
    return PlayRepeated(repeat(), frames, 0, [&]() -> FrameResult {
      const Outcome outcome = player.Play(command);
      player.game.Observe(frames_.Next(i).data());
      return {.reward = static_cast<double>(outcome.reward),
              .end = outcome.terminal ? End::kTerminated : End::kRunning};
    });
  }

  FrameSpec spec_;
  std::vector<Player<G>> players_;
  std::vector<FrameResult> results_;
  KeptFrames<float> frames_;
};

}  // namespace starling::envs
