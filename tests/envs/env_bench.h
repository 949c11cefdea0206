// An env with the buffers of its steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "envs/env.h"

namespace starling::envs {

struct EnvBench {
  explicit EnvBench(std::unique_ptr<VecEnv> its_env)
      : env(std::move(its_env)),
        row(static_cast<std::size_t>(env->spec().obs_size())),
        actions(static_cast<std::size_t>(env->size())),
        seen(row * actions.size()),
        rewards(actions.size()),
        ends(actions.size()) {
    env->Reset(seen);
  }

  void Step() { env->Step(actions, seen, rewards, ends); }
  void Step(std::vector<std::int32_t> these_actions) {
    actions = std::move(these_actions);
    Step();
  }

  std::unique_ptr<VecEnv> env;
  std::size_t row;  // values of an observation
  std::vector<std::int32_t> actions;
  std::vector<float> seen, rewards;
  std::vector<std::uint8_t> ends;
};

}  // namespace starling::envs
