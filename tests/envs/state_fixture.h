// Envs that are saved and restored in tests, under a random policy.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/random.h"
#include "envs/env.h"
#include "tests/envs/env_bench.h"

namespace starling::envs {

using State = std::vector<std::byte>;

inline State Saved(VecEnv& env) {
  State state;
  env.Save(state);
  return state;
}

// An env under a random policy that depends only on the number of the step, and on the newest
// observation where this has a mask.
struct RandomPlay : EnvBench {
  explicit RandomPlay(std::unique_ptr<VecEnv> its_env) : EnvBench(std::move(its_env)) {}

  // Plays steps [first, last). Returns all that is seen of them, episodes at the end included.
  std::vector<double> Play(std::uint32_t first, std::uint32_t last) {
    std::vector<double> all;
    std::vector<EpisodeEnd> episodes;
    for (std::uint32_t step = first; step < last; ++step) {
      RandomStream policy({.seed = 77, .env = step, .purpose = Purpose::kAction});
      for (std::size_t i = 0; i < envs(); ++i) DrawAction(i, policy);
      Step();
      all.insert(all.end(), seen.begin(), seen.end());
      all.insert(all.end(), rewards.begin(), rewards.end());
      all.insert(all.end(), ends.begin(), ends.end());
      for (const Truncated& end : env->truncated()) {
        all.push_back(end.env);
        all.insert(all.end(), end.observation.begin(), end.observation.end());
      }
      // Not after every step, so that a state holds episodes not yet taken.
      if (step % 16 == 15) env->TakeEpisodes(episodes);
    }
    env->TakeEpisodes(episodes);
    for (const EpisodeEnd& end : episodes) {
      all.insert(all.end(), {double(end.env), end.episode_return, double(end.length),
                             double(static_cast<int>(end.end))});
    }
    return all;
  }
};

struct SavedEnv {
  std::string name;
  std::function<std::unique_ptr<VecEnv>(int num_envs, const EnvSeed& seed)> make;
};
inline void PrintTo(const SavedEnv& env, std::ostream* out) { *out << env.name; }

}  // namespace starling::envs
