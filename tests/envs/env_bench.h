// An env with the buffers of its steps; names of envs and ends of episodes in tests.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

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

inline bool operator==(const EpisodeEnd& a, const EpisodeEnd& b) {
  return a.env == b.env && a.episode_return == b.episode_return && a.length == b.length &&
         a.end == b.end;
}
inline void PrintTo(const EpisodeEnd& end, std::ostream* out) {
  *out << "env " << end.env << ", return " << end.episode_return << ", " << end.length
       << " steps, end " << static_cast<int>(end.end);
}

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
