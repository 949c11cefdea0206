// The actor-critic loss: returns, advantages and the gradient at the heads.
#pragma once

#include <cstdint>
#include <span>

namespace starling::net {

struct LossWeights {
  double value_coef = 0.5;
  double entropy = 0.01;
  double scale = 1.0;  // 1 for the mean over samples; the unroll for loss.reduction = "sum"
};

struct LossReport {  // means over the samples
  double policy_loss = 0, value_loss = 0, entropy = 0;
};

// Generalised advantage estimation (Schulman et al. 2016, eq. 16); lambda = 1 gives n-step returns.
// Time-major: rewards, terminals, values (T, B), bootstrap (B) the value of the state after the last
// step; writes advantages and returns (T, B), returns = advantages + values. A terminal cuts the sum.
template <class T>
void GeneralisedAdvantages(int steps, int envs, std::span<const T> rewards,
                           std::span<const std::uint8_t> terminals, std::span<const T> values,
                           std::span<const T> bootstrap, double gamma, double lambda,
                           std::span<T> advantages, std::span<T> returns);

// loss = scale/n * sum_i [ -advantage_i log pi(a_i) + value_coef * (return_i - value_i)^2 / 2 ... see
// loss.cc for the exact factors ... - entropy * H(pi_i) ], advantages and returns held constant.
// Writes dlogits (n, A), dvalues (n).
template <class T>
LossReport ActorCriticLoss(int n, int actions, std::span<const T> logits, std::span<const T> values,
                           std::span<const std::int32_t> taken, std::span<const T> advantages,
                           std::span<const T> returns, const LossWeights& weights,
                           std::span<T> dlogits, std::span<T> dvalues);

// Samples an action per row from softmax(logits) by inverse transform: uniforms (n) in [0, 1).
void SampleActions(int n, int actions, std::span<const float> logits,
                   std::span<const float> uniforms, std::span<std::int32_t> taken);
void GreedyActions(int n, int actions, std::span<const float> logits,
                   std::span<std::int32_t> taken);

// Scales `gradient` so that its global L2 norm is at most `max_norm` (0: off); returns the norm before.
double ClipByGlobalNorm(std::span<float> gradient, double max_norm);

}  // namespace starling::net
