// The actor-critic loss: returns, advantages, the gradient at the heads, and acting from logits.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>

#include "net/norm.h"  // ClipByGlobalNorm

namespace starling::net {

struct LossWeights {
  double value_coef = 0.5;
  double entropy = 0.01;
  double scale = 1.0;  // 1 for the mean over samples; the unroll for loss.reduction = "sum"
};

struct LossReport {  // means over the samples, without the weights above
  double policy_loss = 0, value_loss = 0, entropy = 0;
};

// Generalised advantage estimation (Schulman et al. 2016, eq. 16); lambda = 1 gives n-step returns.
// Time-major: rewards, terminals, values (T, B), bootstrap (B) the value of the state after the
// last step; writes advantages and returns (T, B), returns = advantages + values. A terminal cuts
// the sum.
template <class T>
void GeneralisedAdvantages(int steps, int envs, std::span<const T> rewards,
                           std::span<const std::uint8_t> terminals, std::span<const T> values,
                           std::span<const T> bootstrap, double gamma, double lambda,
                           std::span<T> advantages, std::span<T> returns);

// With pi_i = softmax(logits_i), entropy H(p) = -sum_a p_a log p_a (in nats), over n samples:
//   loss = scale * [ mean_i(-advantage_i log pi_i(taken_i))
//                  + value_coef * mean_i((return_i - value_i)^2) - entropy * mean_i(H(pi_i)) ]
// advantages and returns held constant: the loss of A2C in Stable-Baselines3, without a factor 1/2
// in the value term. Writes its gradient: dlogits (n, A), dvalues (n). Logits (n, A) may be as
// large as 1e37: everything goes through log-sum-exp.
template <class T>
LossReport ActorCriticLoss(int n, int actions, std::span<const T> logits, std::span<const T> values,
                           std::span<const std::int32_t> taken, std::span<const T> advantages,
                           std::span<const T> returns, const LossWeights& weights,
                           std::span<T> dlogits, std::span<T> dvalues);

// Samples an action per row from softmax(logits (n, A)) by inverse transform of uniforms (n), each
// in [0, 1). Always writes valid actions, whatever the logits.
void SampleActions(int n, int actions, std::span<const float> logits,
                   std::span<const float> uniforms, std::span<std::int32_t> taken);
void SampleActions(int n, int actions, std::span<const double> logits,
                   std::span<const float> uniforms, std::span<std::int32_t> taken);
// The action with the largest logit, the first of equals.
void GreedyActions(int n, int actions, std::span<const float> logits,
                   std::span<std::int32_t> taken);

}  // namespace starling::net
