// Of tests: an env with the buffers of its steps, random actions, names of envs, ends of episodes.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/action_space.h"
#include "core/random.h"
#include "envs/env.h"

namespace starling::envs {

// "minatar/breakout" as part of the name of a test or a file: minatar_breakout.
inline std::string PlainName(std::string env) {
  std::ranges::replace_if(
      env, [](unsigned char c) { return !std::isalnum(c); }, '_');
  return env;
}
inline std::string NameOfTest(const testing::TestParamInfo<std::string>& env) {
  return PlainName(env.param);
}

inline void PrintTo(const EpisodeEnd& end, std::ostream* out) {
  *out << "env " << end.env << ", return " << end.episode_return << ", " << end.length
       << " steps, end " << static_cast<int>(end.end);
}

// The size of the actions of `envs` envs, in words.
inline std::size_t Words(const EnvSpec& spec, std::size_t envs = 1) {
  return envs * static_cast<std::size_t>(spec.actions.width());
}

// Draws the action of env `i`, of those that `seen`, the newest observations of all envs, allow.
inline void DrawAction(const EnvSpec& spec, std::span<const float> seen, std::size_t i,
                       RandomStream& stream, std::span<std::int32_t> actions) {
  const auto row = seen.subspan(i * spec.row(), spec.row());
  const std::size_t width = Words(spec);
  RandomAction(spec.actions, row.subspan(static_cast<std::size_t>(spec.obs_size())), stream,
               actions.subspan(i * width, width));
}

struct EnvBench {
  explicit EnvBench(std::unique_ptr<VecEnv> its_env)
      : env(std::move(its_env)),
        row(env->spec().row()),
        actions(Words(env->spec(), envs())),
        seen(row * envs()),
        rewards(envs()),
        ends(envs()) {
    env->Reset(seen);
  }

  std::size_t envs() const { return static_cast<std::size_t>(env->size()); }
  void Step() { env->Step(actions, seen, rewards, ends); }
  void Step(std::vector<std::int32_t> these_actions) {
    actions = std::move(these_actions);
    Step();
  }
  void DrawAction(std::size_t i, RandomStream& stream) {
    envs::DrawAction(env->spec(), seen, i, stream, actions);
  }

  std::unique_ptr<VecEnv> env;
  std::size_t row;  // values of an observation and its mask
  std::vector<std::int32_t> actions;
  std::vector<float> seen, rewards;
  std::vector<std::uint8_t> ends;
};

}  // namespace starling::envs
