// Actions and advantages. Same formulas as net/sampling.cc and net/returns.cc; results may differ
// in the last bits.
#pragma once

#include <cmath>

#include "core/random.h"
#include "net/cuda/pack.h"
#include "net/loss.h"

namespace starling::net::cuda {

HOST_DEVICE inline float Largest(int count, const float* values) {
  float top = values[0];
  for (int a = 1; a < count; ++a) {
    if (top < values[a]) top = values[a];
  }
  return top;
}

struct SampleActions {
  int actions;
  const float* logits;
  RandomStream* streams;
  std::int32_t* taken;

  HOST_DEVICE void operator()(long long i) const {
    const float* const z = logits + i * actions;
    const float top = Largest(actions, z);
    float total = 0;
    for (int a = 0; a < actions; ++a) total += std::exp(z[a] - top);
    // Take the first action whose cumulated mass exceeds u * total, else the last with any mass.
    const float target = streams[i].Uniform() * total;
    float below = 0;
    std::int32_t chosen = 0;
    for (int a = 0; a < actions; ++a) {
      const float mass = std::exp(z[a] - top);
      if (mass > 0) chosen = a;
      below += mass;
      if (below > target) break;
    }
    taken[i] = chosen;
  }
};

struct AddBootstrap {
  AddBootstrapArgs<float> a;

  HOST_DEVICE void operator()(long long i) const {
    if (a.ends[i] == a.truncated) a.rewards[i] += static_cast<float>(a.gamma) * a.values[i];
  }
};

// One thread for each env, backwards in time.
struct Advantages {
  AdvantagesArgs<float> a;
  float discount, decay;  // gamma, gamma lambda

  HOST_DEVICE void operator()(long long env) const {
    float next_value = a.bootstrap[env], next_advantage = 0;
    for (int t = a.shape.steps - 1; t >= 0; --t) {
      const long long i = 1ll * t * a.shape.envs + env;
      const float goes_on = a.terminals[i] != 0 ? 0.0f : 1.0f, value = a.values[i];
      const float delta = a.rewards[i] + goes_on * discount * next_value - value;
      next_advantage = delta + goes_on * decay * next_advantage;
      next_value = value;
      a.advantages[i] = next_advantage;
      a.returns[i] = next_advantage + value;
    }
  }
};

}  // namespace starling::net::cuda
