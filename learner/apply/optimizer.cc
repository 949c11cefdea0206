#include "learner/apply/optimizer.h"

#include <algorithm>

namespace starling::learner {
namespace {

constexpr const OptimizerRule* kRules[] = {
    &kSgd,
    &kRmsProp,
    &kAdam,
};

}  // namespace

OptimizerSpec MakeOptimizerSpec(const OptimizerConfig& config) {
  const auto rule = std::ranges::find(kRules, config.kind, &OptimizerRule::kind);
  CHECK(rule != std::end(kRules), "optimizer.kind = {}", NameOf(config.kind));
  OptimizerSpec spec{.rule = *rule,
                     .momentum = config.momentum,
                     .decay = config.decay,
                     .epsilon = config.epsilon,
                     .epsilon_inside = config.epsilon_place == EpsilonPlace::kInside,
                     .centered = config.centered,
                     .bias_correction = config.bias_correction,
                     .beta1 = config.beta1,
                     .beta2 = config.beta2,
                     .slots = {}};
  spec.slots = spec.rule->slots(spec);
  CHECK(spec.slots.size() <= kMaxSlots, "{} keeps {} slots", NameOf(config.kind),
        spec.slots.size());
  return spec;
}

StepSize MakeStepSize(const OptimizerSpec& spec, double lr, double scale, std::uint64_t step) {
  CHECK(step >= 1, "the first update is step 1");
  return spec.rule->step_size(spec, lr * scale, step);
}

void ApplyUpdate(const OptimizerSpec& spec, const StepSize& step, std::span<const float> gradient,
                 std::span<float> weights, std::span<const std::span<float>> state) {
  const std::size_t n = weights.size();
  CHECK(n % kGroup == 0 && gradient.size() == n, "{} weights, {} gradients", n, gradient.size());
  CHECK(state.size() == spec.slots.size(), "{} slots", state.size());
  for (const std::span<float> slot : state) CHECK(slot.size() == n, "slot of {}", slot.size());
  spec.rule->apply(spec, step, gradient, weights, state);
}

}  // namespace starling::learner
