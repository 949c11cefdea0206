// Schedules that follow the samples applied so far, and the two rules that scale a step. Pure
// functions. `steps` are samples, as everywhere in a run.
#pragma once

#include <cstdint>
#include <span>

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

// Returns the factor of optimizer.scale_lr: 1 for "none"; samples / samples_per_gradient for
// "linear" (Goyal et al. 2017). `samples`: of the whole update. `samples_per_gradient`:
// envs_per_actor * unroll.
double LinearScale(const OptimizerConfig& config, std::uint64_t samples,
                   std::uint64_t samples_per_gradient);

// One gradient of an update, as DampingScale sees it.
struct Contribution {
  std::uint64_t samples = 0;    // m_k >= 1
  std::uint64_t staleness = 0;  // tau_k
};
// Returns the factor of staleness.damping, 0 < factor <= 1: 1 for "none"; for "inverse" the sum of
// (m_k / n) / max(1, tau_k) with n = sum of m_k. Zhang et al. 2015 (arXiv 1511.05950) weigh each
// gradient of the sum instead.
double DampingScale(const StalenessConfig& config, std::span<const Contribution> contributions);

}  // namespace starling::learner
