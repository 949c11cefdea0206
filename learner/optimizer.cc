#include "learner/optimizer.h"

#include <cmath>

#include "core/check.h"

namespace starling::learner {
namespace {

constexpr std::size_t kGroup = 16;  // floats; slices are multiples of it, so no loop has a tail

void ApplySgd(std::size_t n, float lr, const float* __restrict gradient,
              float* __restrict weights) {
  for (std::size_t i = 0; i < n; ++i) weights[i] -= lr * gradient[i];
}

// kInside is a template parameter so that the loop holds no choice and becomes vector code.
template <bool kInside>
void ApplyRmsProp(std::size_t n, const StepSize& step, float decay, float rest, float epsilon,
                  const float* __restrict gradient, float* __restrict weights,
                  float* __restrict square_avg) {
  const float lr = step.lr;
  const float correction = step.correction;
  for (std::size_t i = 0; i < n; ++i) {
    const float g = gradient[i];
    const float s = decay * square_avg[i] + rest * (g * g);
    square_avg[i] = s;
    const float corrected = s * correction;
    const float root = kInside ? std::sqrt(corrected + epsilon) : std::sqrt(corrected) + epsilon;
    weights[i] -= lr * (g / root);
  }
}

}  // namespace

OptimizerSpec MakeOptimizerSpec(const OptimizerConfig& config) {
  OptimizerSpec spec;
  CHECK(config.kind == "rmsprop" || config.kind == "sgd", "optimizer.kind = {}", config.kind);
  spec.kind = config.kind == "sgd" ? OptimizerKind::kSgd : OptimizerKind::kRmsProp;
  spec.decay = config.decay;
  spec.epsilon = config.epsilon;
  spec.epsilon_inside = config.epsilon_place == "inside";
  spec.bias_correction = config.bias_correction;
  return spec;
}

std::size_t NumSlots(const OptimizerSpec& spec) {
  return spec.kind == OptimizerKind::kRmsProp ? 1 : 0;
}

std::vector<std::string> SlotNames(const OptimizerSpec& spec) {
  if (spec.kind == OptimizerKind::kRmsProp) return {"square_avg"};
  return {};
}

StepSize MakeStepSize(const OptimizerSpec& spec, double lr, double scale, std::uint64_t step) {
  CHECK(step >= 1, "the first update is step 1");
  StepSize size;
  size.lr = static_cast<float>(lr * scale);
  if (spec.kind == OptimizerKind::kRmsProp && spec.bias_correction) {
    CHECK(spec.decay >= 0 && spec.decay < 1, "decay {}", spec.decay);
    // 1 - decay^t without the cancellation that a decay next to 1 would bring.
    const double missing = -std::expm1(static_cast<double>(step) * std::log(spec.decay));
    size.correction = static_cast<float>(1 / missing);
  }
  return size;
}

void ApplyUpdate(const OptimizerSpec& spec, const StepSize& step, std::span<const float> gradient,
                 std::span<float> weights, std::span<const std::span<float>> state) {
  const std::size_t n = weights.size();
  CHECK(n % kGroup == 0 && gradient.size() == n, "{} weights, {} gradients", n, gradient.size());
  CHECK(state.size() == NumSlots(spec), "{} slots", state.size());
  for (const std::span<float> slot : state) CHECK(slot.size() == n, "slot of {}", slot.size());

  if (spec.kind == OptimizerKind::kSgd) {
    ApplySgd(n, step.lr, gradient.data(), weights.data());
    return;
  }
  // An epsilon that rounds to zero would turn a weight that has never had a gradient into 0 / 0.
  const float epsilon = static_cast<float>(spec.epsilon);
  CHECK(epsilon > 0, "epsilon {}", spec.epsilon);
  const float decay = static_cast<float>(spec.decay);
  const float rest = static_cast<float>(1 - spec.decay);
  const auto apply = spec.epsilon_inside ? ApplyRmsProp<true> : ApplyRmsProp<false>;
  apply(n, step, decay, rest, epsilon, gradient.data(), weights.data(), state[0].data());
}

}  // namespace starling::learner
