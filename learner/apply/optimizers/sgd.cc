// Stochastic gradient descent:       w -= lr g
// and with momentum mu:              v = mu v + g,  w -= lr v
// As in PyTorch the learning rate is not part of v, so a change of it acts on the whole step.
#include "learner/apply/optimizer.h"

namespace starling::learner {
namespace {

void Plain(std::size_t n, float lr, const float* __restrict gradient, float* __restrict weights) {
  for (std::size_t i = 0; i < n; ++i) weights[i] -= lr * gradient[i];
}

void WithMomentum(std::size_t n, float lr, float momentum, const float* __restrict gradient,
                  float* __restrict weights, float* __restrict velocity) {
  for (std::size_t i = 0; i < n; ++i) {
    const float v = momentum * velocity[i] + gradient[i];
    velocity[i] = v;
    weights[i] -= lr * v;
  }
}

std::vector<std::string> Slots(const OptimizerSpec& spec) {
  if (spec.momentum > 0) return {"momentum"};
  return {};
}

StepSize Step(const OptimizerSpec&, double lr, std::uint64_t) {
  return {.lr = static_cast<float>(lr)};
}

void Apply(const OptimizerSpec& spec, const StepSize& step, std::span<const float> gradient,
           std::span<float> weights, std::span<const std::span<float>> state) {
  const std::size_t n = weights.size();
  if (state.empty()) {
    Plain(n, step.lr, gradient.data(), weights.data());
  } else {
    WithMomentum(n, step.lr, static_cast<float>(spec.momentum), gradient.data(), weights.data(),
                 state[0].data());
  }
}

}  // namespace

constinit const OptimizerRule kSgd{OptimizerKind::kSgd, Slots, Step, Apply};

}  // namespace starling::learner
