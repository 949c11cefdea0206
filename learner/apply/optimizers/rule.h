// How one kind of optimizer works: each has a file in this folder and a line in the table of
// learner/apply/optimizer.cc.
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
  // The slots that it keeps with these settings, at most kMaxSlots.
  std::vector<std::string> (*slots)(const OptimizerSpec& spec);
  // Update number `step` >= 1; `lr` is scaled already.
  StepSize (*step_size)(const OptimizerSpec& spec, double lr, std::uint64_t step);
  // ApplyUpdate, with all sizes checked; no two of the spans overlap.
  void (*apply)(const OptimizerSpec& spec, const StepSize& step, std::span<const float> gradient,
                std::span<float> weights, std::span<const std::span<float>> state);
};

extern const OptimizerRule kSgd, kRmsProp, kAdam;

// 1 / (1 - decay^step): what makes a running average that started at zero an average of what it has
// seen (Kingma & Ba 2015, section 3); without the cancellation that a decay next to 1 would bring.
inline double BiasCorrection(double decay, std::uint64_t step) {
  CHECK(decay >= 0 && decay < 1, "decay {}", decay);
  return -1 / std::expm1(static_cast<double>(step) * std::log(decay));
}

// An epsilon that rounds to zero would turn a weight that has never had a gradient into 0 / 0.
inline float CheckedEpsilon(const OptimizerSpec& spec) {
  const float epsilon = static_cast<float>(spec.epsilon);
  CHECK(epsilon > 0, "epsilon {}", spec.epsilon);
  return epsilon;
}

}  // namespace starling::learner
