// Numbers that follow the samples applied so far, and the two rules that scale a step. Pure.
#pragma once

#include <cstdint>
#include <span>

#include "core/config/config.h"

namespace starling::learner {

// The rate of an update of `samples` after `steps_applied`: optimizer.lr, or with lr_schedule
// "linear" the line from lr at step 0 to 0 at run_steps; times (steps_applied + samples) /
// warmup_steps while that is less than 1, so that the first update moves the weights as well. Never
// below 0, also past the end.
double LearningRate(const OptimizerConfig& config, std::uint64_t run_steps,
                    std::uint64_t steps_applied, std::uint64_t samples);

// From loss.entropy at step 0 to loss.entropy_end at run_steps, constant past the end: along a
// line, or "exponential", by the same factor in every step (both are above 0). "constant":
// loss.entropy.
double EntropyCoef(const LossConfig& config, std::uint64_t run_steps, std::uint64_t steps_applied);

// optimizer.scale_lr: 1 for "none"; samples / samples_per_gradient for "linear", with `samples` of
// the whole update and samples_per_gradient = envs_per_actor * unroll (Goyal et al. 2017).
double LinearScale(const OptimizerConfig& config, std::uint64_t samples,
                   std::uint64_t samples_per_gradient);

// One gradient of an update.
struct Contribution {
  std::uint64_t samples = 0;    // m_k >= 1
  std::uint64_t staleness = 0;  // tau_k
};
// staleness.damping: 1 for "none"; for "inverse" the sum of (m_k / n) / max(1, tau_k) with
// n = sum of m_k (after Zhang et al. 2015, arXiv 1511.05950, who weigh each gradient of
// the sum instead). 0 < result <= 1.
double DampingScale(const StalenessConfig& config, std::span<const Contribution> contributions);

}  // namespace starling::learner
