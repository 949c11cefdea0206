#include "learner/apply/optimizer.h"

#include <algorithm>
#include <array>

namespace starling::learner {
namespace {

constexpr const OptimizerRule* kRules[] = {
    &kSgd,
    &kRmsProp,
    &kAdam,
};

// Applies the update block by block, and adds each to the mean of squares of the correction.
void ApplyAndAverage(const OptimizerSpec& spec, const StepSize& step,
                     std::span<const float> gradient, std::span<float> weights,
                     std::span<const std::span<float>> state) {
  constexpr std::size_t kBlock = 256;
  std::array<float, kBlock> before;
  std::array<std::span<float>, kMaxSlots> slots;
  for (std::size_t done = 0; done < weights.size(); done += kBlock) {
    const std::size_t n = std::min(kBlock, weights.size() - done);
    const std::span<float> block = weights.subspan(done, n);
    std::ranges::copy(block, before.begin());
    for (std::size_t s = 0; s < state.size(); ++s) slots.at(s) = state[s].subspan(done, n);
    spec.rule->apply(spec, step, gradient.subspan(done, n), block,
                     std::span(slots).first(state.size() - 1));
    AverageSquares(spec.correction, gradient.subspan(done, n), std::span(before).first(n), block,
                   slots.at(state.size() - 1));
  }
}

}  // namespace

OptimizerSpec MakeOptimizerSpec(const OptimizerConfig& config, const StalenessConfig& staleness) {
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
                     .correction = MakeCorrectionSpec(staleness),
                     .slots = {}};
  spec.slots = spec.rule->slots(spec);
  if (!spec.correction.squares().empty()) spec.slots.emplace_back(spec.correction.squares());
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
  if (spec.correction.squares().empty()) {
    spec.rule->apply(spec, step, gradient, weights, state);
  } else {
    ApplyAndAverage(spec, step, gradient, weights, state);
  }
}

}  // namespace starling::learner
