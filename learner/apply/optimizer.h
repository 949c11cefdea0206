// One update of a slice of the weights: plain loops that the compiler vectorises, with exact square
// root and division. Every weight is computed by itself, so the result does not depend on how the
// vector is cut into slices (multiples of 16 floats). The formula of each kind is in its file in
// optimizers/.
//
// Thread safety: pure functions of their arguments; different slices may be updated in parallel.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/check.h"
#include "core/config/config.h"
#include "learner/apply/correction.h"

namespace starling::learner {

// Floats in a cache line; slices are multiples of it, so no loop has a tail.
inline constexpr std::size_t kGroup = 16;

struct OptimizerRule;  // the functions of one kind, below

// The largest number of slots: three of an optimizer and one of a correction.
inline constexpr std::size_t kMaxSlots = 4;

// A kind with its settings: the keys of [optimizer] that shape a step.
struct OptimizerSpec {
  const OptimizerRule* rule = nullptr;
  double momentum = 0;
  double decay = 0;
  double epsilon = 0;
  bool epsilon_inside = false;  // epsilon under the square root, as in the A3C paper
  bool centered = false;
  bool bias_correction = false;
  double beta1 = 0, beta2 = 0;
  CorrectionSpec correction;  // of stale gradients
  // Names of its state vectors; that of the correction is the last. Each has the size of the
  // weights and starts at zero.
  std::vector<std::string> slots;
};
OptimizerSpec MakeOptimizerSpec(const OptimizerConfig& config,
                                const StalenessConfig& staleness = {});

// The factors of one update, the same for all weights.
struct StepSize {
  float lr = 0;          // learning rate * damping * other factors of the whole step
  float correction = 1;  // bias correction of the average of squares (Adam, RMSProp)
};
// `scale` multiplies the step after the normalisation, including the momentum part; 1: none.
// `step`: number of updates including this one. REQUIRES: step >= 1.
StepSize MakeStepSize(const OptimizerSpec& spec, double lr, double scale, std::uint64_t step);

// Applies one update. `gradient` is the mean already; `state` holds one span for each of
// spec.slots. REQUIRES: all spans have the same size, a multiple of 16.
void ApplyUpdate(const OptimizerSpec& spec, const StepSize& step, std::span<const float> gradient,
                 std::span<float> weights, std::span<const std::span<float>> state);

// ---- for the files in optimizers/, one for each kind

struct OptimizerRule {
  OptimizerKind kind;
  // Returns the names of its slots with these settings, at most kMaxSlots - 1.
  std::vector<std::string> (*slots)(const OptimizerSpec& spec);
  // Returns the factors of update number `step`; `lr` is scaled already. REQUIRES: step >= 1.
  StepSize (*step_size)(const OptimizerSpec& spec, double lr, std::uint64_t step);
  // Applies one update. REQUIRES: the sizes are those of ApplyUpdate, and no two spans overlap.
  void (*apply)(const OptimizerSpec& spec, const StepSize& step, std::span<const float> gradient,
                std::span<float> weights, std::span<const std::span<float>> state);
};

extern const OptimizerRule kSgd, kRmsProp, kAdam;

// Returns 1 / (1 - decay^step), the correction of a running average that started at zero (Kingma &
// Ba 2015, section 3). expm1 avoids the cancellation of 1 - decay^step for a decay close to 1.
inline double BiasCorrection(double decay, std::uint64_t step) {
  CHECK(decay >= 0 && decay < 1, "decay {}", decay);
  return -1 / std::expm1(static_cast<double>(step) * std::log(decay));
}

// An epsilon that rounds to zero would make 0 / 0 of a weight that never had a gradient.
inline float CheckedEpsilon(const OptimizerSpec& spec) {
  const float epsilon = static_cast<float>(spec.epsilon);
  CHECK(epsilon > 0, "epsilon {}", spec.epsilon);
  return epsilon;
}

}  // namespace starling::learner
