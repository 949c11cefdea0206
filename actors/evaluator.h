// Plays fresh episodes with fixed weights: an actor that never pushes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/config/config.h"

namespace starling::actors {

struct EvalPlan {
  std::int64_t episodes = 100;
  bool greedy = false;                 // the most likely action instead of a sample
  std::uint64_t seed = 0;              // its streams are disjoint from those of training
  std::int64_t max_steps = 1'000'000;  // an episode is ended after so many
};

struct EvalResult {
  std::vector<double> returns;  // one per episode, by env and then in order
  double mean = 0, std = 0;     // std over the episodes, n - 1 in the denominator
  std::int64_t cut = 0;         // episodes that reached max_steps
};

// Plays the same number of episodes in each env, so that short episodes are not favoured: the
// number of envs is the largest divisor of `episodes` up to 128. `weights` is the flat vector of
// config's net on config's env. Throws UserError as envs::MakeVecEnv and net::MakeModel, and
// std::runtime_error if env processes fail again and again before any episode ends.
EvalResult Evaluate(const Config& config, std::span<const float> weights, const EvalPlan& plan);

}  // namespace starling::actors
