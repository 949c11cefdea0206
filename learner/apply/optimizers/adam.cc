// Adam (Kingma & Ba 2015, algorithm 1), update number t:
//
//   m = beta1 m + (1 - beta1) g             exp_avg
//   v = beta2 v + (1 - beta2) g^2           exp_avg_sq
//   w -= lr m' / (sqrt(v') + epsilon)       m' = m / (1 - beta1^t), v' = v / (1 - beta2^t)
//
// The correction of m is the same for all weights, so it is part of StepSize.lr.
#include <cmath>

#include "learner/apply/optimizer.h"

namespace starling::learner {
namespace {

struct Numbers {
  float lr, correction, beta1, rest1, beta2, rest2, epsilon;
};

void Loop(std::size_t n, const Numbers& numbers, const float* __restrict gradient,
          float* __restrict weights, float* __restrict exp_avg, float* __restrict exp_avg_sq) {
  const auto [lr, correction, beta1, rest1, beta2, rest2, epsilon] = numbers;
  for (std::size_t i = 0; i < n; ++i) {
    const float g = gradient[i];
    const float m = beta1 * exp_avg[i] + rest1 * g;
    const float v = beta2 * exp_avg_sq[i] + rest2 * (g * g);
    exp_avg[i] = m;
    exp_avg_sq[i] = v;
    weights[i] -= lr * (m / (std::sqrt(v * correction) + epsilon));
  }
}

std::vector<std::string> Slots(const OptimizerSpec&) { return {"exp_avg", "exp_avg_sq"}; }

StepSize Step(const OptimizerSpec& spec, double lr, std::uint64_t step) {
  return {.lr = static_cast<float>(lr * BiasCorrection(spec.beta1, step)),
          .correction = static_cast<float>(BiasCorrection(spec.beta2, step))};
}

void Apply(const OptimizerSpec& spec, const StepSize& step, std::span<const float> gradient,
           std::span<float> weights, std::span<const std::span<float>> state) {
  const Numbers numbers = {.lr = step.lr,
                           .correction = step.correction,
                           .beta1 = static_cast<float>(spec.beta1),
                           .rest1 = static_cast<float>(1 - spec.beta1),
                           .beta2 = static_cast<float>(spec.beta2),
                           .rest2 = static_cast<float>(1 - spec.beta2),
                           .epsilon = CheckedEpsilon(spec)};
  Loop(weights.size(), numbers, gradient.data(), weights.data(), state[0].data(), state[1].data());
}

}  // namespace

constinit const OptimizerRule kAdam{OptimizerKind::kAdam, Slots, Step, Apply};

}  // namespace starling::learner
