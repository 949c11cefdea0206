// One update of a slice of the weights: plain loops that the compiler vectorises, exact square root
// and division, every weight on its own, so the result does not depend on how the vector is cut
// into slices (multiples of 16 floats). The formula of each kind is in its file in optimizers/.
//
// Thread safety: pure functions of their arguments; different slices may be updated at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/config/config.h"

namespace starling::learner {

// Floats in a cache line; slices are multiples of it, so no loop has a tail.
inline constexpr std::size_t kGroup = 16;

struct OptimizerRule;  // how one kind works: learner/apply/optimizers/rule.h

// As many slots as any optimizer keeps.
inline constexpr std::size_t kMaxSlots = 3;

// A kind with its settings: those keys of [optimizer] that shape a step.
struct OptimizerSpec {
  const OptimizerRule* rule = nullptr;
  double momentum = 0;
  double decay = 0;
  double epsilon = 0;
  bool epsilon_inside = false;  // under the square root, as in the A3C paper
  bool centered = false;
  bool bias_correction = false;
  double beta1 = 0, beta2 = 0;
  // Its state: the names of vectors of the size of the weights, which all start at zero.
  std::vector<std::string> slots;
};
OptimizerSpec MakeOptimizerSpec(const OptimizerConfig& config);

// What is the same for all weights of one update.
struct StepSize {
  float lr = 0;          // learning rate times damping, and what else multiplies the whole step
  float correction = 1;  // of the average of squares, for having started at zero
};
// `scale` multiplies the step after the normalisation (1 = none), and with momentum the whole of
// it; `step` is the number of updates including this one, >= 1.
StepSize MakeStepSize(const OptimizerSpec& spec, double lr, double scale, std::uint64_t step);

// One update with `gradient` already averaged; all spans have the same size n, a multiple of 16.
// `state` holds one span for each of spec.slots.
void ApplyUpdate(const OptimizerSpec& spec, const StepSize& step, std::span<const float> gradient,
                 std::span<float> weights, std::span<const std::span<float>> state);

}  // namespace starling::learner
