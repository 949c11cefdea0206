// Sticky actions for envs whose chance is not ours (Gymnasium, plug-ins); bundled games draw theirs
// in the stream they play from (envs/vec_env.h).
#pragma once

#include <cstdint>
#include <vector>

#include "core/random.h"
#include "envs/chance.h"
#include "envs/env.h"

namespace starling::envs {

class StickyActions {
 public:
  // `probability` of every frame; env i draws from StreamId{..., i, Purpose::kSticky}.
  StickyActions(int num_envs, const EnvSeed& seed, double probability) : probability_(probability) {
    for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(num_envs); ++i) {
      envs_.push_back(
          {RandomStream({seed.seed, seed.slot, seed.incarnation, i, Purpose::kSticky})});
    }
  }

  // The action that env `i` plays where `asked` was asked for. One draw; the last action starts as
  // 0 and outlives a reset.
  std::int32_t Play(int i, std::int32_t asked) {
    One& env = envs_[static_cast<std::size_t>(i)];
    RandomChance chance(env.stream);
    env.last = StickyAction(asked, env.last, probability_, chance);
    return env.last;
  }

 private:
  struct One {
    RandomStream stream;
    std::int32_t last = 0;
  };
  double probability_;
  std::vector<One> envs_;
};

}  // namespace starling::envs
