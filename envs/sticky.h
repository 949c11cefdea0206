// Sticky actions: how often, and the draws of envs whose chance is not ours (Gymnasium, plug-ins);
// bundled games draw theirs in the stream they play from (envs/vec_env.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/config/config.h"
#include "core/random.h"
#include "envs/env.h"

namespace starling::envs {

// The chance, in every frame, that env `config` repeats its last action. "auto": 0.1 for bundled
// games; 0.25 for ids of Gymnasium's under "ALE/", unless env.options has ALE do it; else 0.
double StickyChance(const EnvConfig& config);

class StickyActions {
 public:
  // `probability` of every frame; env i draws from StreamId{..., i, Purpose::kSticky}.
  StickyActions(int num_envs, const EnvSeed& seed, double probability);

  // The actions of the next frames.size() frames of env `i` where `asked` was asked for. One draw a
  // frame, all of them ahead of time, in this process: those of frames that are then not played
  // (the episode ended) count, too, so that isolated or not an env plays the same. The last action
  // starts as 0 and outlives a reset.
  void Play(int i, std::int32_t asked, std::span<std::int32_t> frames);

 private:
  struct One {
    RandomStream stream;
    std::int32_t last = 0;
  };
  double probability_;
  std::vector<One> envs_;
};

}  // namespace starling::envs
