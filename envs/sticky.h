// Sticky actions: their probability, and the draws for envs that do not draw from our streams
// (Gymnasium, Atari, plug-ins). Bundled games draw theirs in the stream they play from
// (envs/vec_env.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/config/config.h"
#include "core/random.h"
#include "envs/env.h"

namespace starling::envs {

// The probability, in every frame, that env `config` repeats its last action. "auto": 0.1 for
// bundled games (those with masks make it 0); 0.25 for Atari games, unless env.options of
// Gymnasium's lets ALE do it; else 0.
double StickyChance(const EnvConfig& config);

class StickyActions {
 public:
  StickyActions() = default;
  // `probability` in every frame. Env i draws from seed.Stream(i, Purpose::kSticky).
  StickyActions(int num_envs, const EnvSeed& seed, double probability, const ActionSpace& actions);

  // Fills `frames` (frames, width()) with the actions of the next frames of env `i` for the request
  // `asked` (width()): one draw a frame, ahead of time and in this process. They count only once
  // Played: so an action that stops early costs no draws, and an env plays the same wherever it is
  // and however many frames are asked for at once.
  void Draw(int i, std::span<const std::int32_t> asked, std::span<std::int32_t> frames) const;
  // Env `i` has played `frames` (frames, width()), the first of those that it drew. The last one is
  // the action that the next may repeat; before the first that is RestingAction. It survives a
  // reset.
  void Played(int i, std::span<const std::int32_t> frames);

  void Fields(StateBytes& state);

 private:
  struct EnvState {
    RandomStream stream;
    std::vector<std::int32_t> last;  // (width())
  };
  void ActionFields(StateBytes& state, std::vector<std::int32_t>& action) const;

  ActionSpace actions_;
  double probability_ = 0;
  std::vector<EnvState> envs_;
};

}  // namespace starling::envs
