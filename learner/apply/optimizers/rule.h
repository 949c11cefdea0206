// The interface of an optimizer kind. Each kind has a file in this folder and a line in the table
// of learner/apply/optimizer.cc.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/check.h"
#include "learner/apply/optimizer.h"

namespace starling::learner {

struct OptimizerRule {
  OptimizerKind kind;
  // Returns the names of its slots with these settings, at most kMaxSlots.
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
