// One update of a slice of the weights: plain loops that the compiler vectorises, exact square root
// and division, every weight on its own, so the result does not depend on how the vector is cut
// into slices (multiples of 16 floats).
//
// Thread safety: pure functions of their arguments; different slices may be updated at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/config.h"

namespace starling::learner {

enum class OptimizerKind : std::uint8_t { kSgd, kRmsProp };

struct OptimizerSpec {
  OptimizerKind kind = OptimizerKind::kRmsProp;
  double decay = 0.99;
  double epsilon = 1e-5;
  bool epsilon_inside = false;  // under the square root, as in the A3C paper
  bool bias_correction = true;
};
OptimizerSpec MakeOptimizerSpec(const OptimizerConfig& config);

// Vectors of the size of the weights that the optimizer keeps: RMSProp 1 ("square_avg"), SGD 0.
// All start at zero.
std::size_t NumSlots(const OptimizerSpec& spec);
std::vector<std::string> SlotNames(const OptimizerSpec& spec);

// What is the same for all weights of one update.
struct StepSize {
  float lr = 0;          // learning rate times damping
  float correction = 1;  // 1 / (1 - decay^t) with bias correction, else 1
};
// `scale` multiplies the step after the normalisation (1 = none); `step` is the number of updates
// including this one, >= 1.
StepSize MakeStepSize(const OptimizerSpec& spec, double lr, double scale, std::uint64_t step);

// One update with `gradient` already averaged; all spans have the same size n, a multiple of 16.
// SGD:     w -= lr g
// RMSProp: s = d s + (1 - d) g^2, s' = s * correction, then
//          w -= lr g / (sqrt(s') + epsilon), or inside: w -= lr g / sqrt(s' + epsilon)
// (Tieleman & Hinton 2012; epsilon inside: Mnih et al. 2016; correction: Kingma & Ba 2015, sec. 3).
// `state` holds NumSlots(spec) spans.
void ApplyUpdate(const OptimizerSpec& spec, const StepSize& step, std::span<const float> gradient,
                 std::span<float> weights, std::span<const std::span<float>> state);

}  // namespace starling::learner
