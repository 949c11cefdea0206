// Schedules that follow the samples applied so far, and the two rules that scale a step. Pure
// functions. `steps` are samples, as everywhere in a run.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "core/config/config.h"

namespace starling::learner {

// Returns the learning rate of an update of `samples` after `steps_applied`: optimizer.lr, or with
// lr_schedule "linear" the line from lr at step 0 to 0 at run_steps and after it. Warm-up
// multiplies it by (steps_applied + samples) / warmup_steps while that is less than 1; counting the
// update's own samples, the first update moves the weights as well.
double LearningRate(const OptimizerConfig& config, std::uint64_t run_steps,
                    std::uint64_t steps_applied, std::uint64_t samples);

// Returns the entropy coefficient: for "constant" loss.entropy; else it goes from loss.entropy at
// step 0 to loss.entropy_end at run_steps and stays there, along a line ("linear") or by the same
// factor in every step ("exponential"; both ends are above 0).
double EntropyCoef(const LossConfig& config, std::uint64_t run_steps, std::uint64_t steps_applied);

// Returns the factor of optimizer.scale_lr for an update of `samples`: 1 for "none"; with r =
// samples / optimizer.lr_samples, r for "linear" (Goyal et al. 2017, arXiv 1706.02677) and the root
// of r for "sqrt" (Malladi et al. 2022, arXiv 2205.10287).
double LrScale(const OptimizerConfig& config, std::uint64_t samples);

// Returns a sentence if the usual updates of this run take such long steps from the first one on
// that a warm-up is due, else "".
std::string WhyToWarmUp(const Config& config);

// One gradient of an update, as DampingScale sees it.
struct Contribution {
  std::uint64_t samples = 0;    // m_k >= 1
  std::uint64_t staleness = 0;  // tau_k
};
// Returns the factor of staleness.damping, 0 < factor <= 1: 1 for "none"; for "inverse" the sum of
// (m_k / n) / max(1, tau_k) with n = sum of m_k; for "sqrt" that with the root of max(1, tau_k).
// Zhang et al. 2015 (arXiv 1511.05950) weigh each gradient of the sum instead.
double DampingScale(const StalenessConfig& config, std::span<const Contribution> contributions);

}  // namespace starling::learner
