// The actor-critic loss: returns, advantages, the gradient at the heads; sampling actions.
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
  double scale = 1.0;  // 1: mean over samples; the unroll length if loss.reduction = "sum"
};

// Means over the samples, without the weights above.
struct LossReport {
  double policy_loss = 0, value_loss = 0, entropy = 0;
};

// Generalised advantage estimation (Schulman et al. 2016, eq. 16); lambda = 1 gives n-step returns.
// All arrays are time-major. Reads rewards, terminals, values (T, B) and bootstrap (B), the value
// of the state after the last step. Writes advantages and returns (T, B), where returns =
// advantages + values. A nonzero terminal ends the sum at its step.
template <class T>
void GeneralisedAdvantages(int steps, int envs, std::span<const T> rewards,
                           std::span<const std::uint8_t> terminals, std::span<const T> values,
                           std::span<const T> bootstrap, double gamma, double lambda,
                           std::span<T> advantages, std::span<T> returns);

// The loss of A2C as in Stable-Baselines3, which has no factor 1/2 in the value term. Over n
// samples, with pi_i = softmax(logits_i) and entropy H(p) = -sum_a p_a log p_a (in nats):
//   loss = scale * [ mean_i(-advantage_i log pi_i(taken_i))
//                  + value_coef * mean_i((return_i - value_i)^2) - entropy * mean_i(H(pi_i)) ]
// Advantages and returns count as constants. Writes the gradient: dlogits (n, A), dvalues (n).
// Logits (n, A) may be as large as 1e37, because all terms go through log-sum-exp.
template <class T>
LossReport ActorCriticLoss(int n, int actions, std::span<const T> logits, std::span<const T> values,
                           std::span<const std::int32_t> taken, std::span<const T> advantages,
                           std::span<const T> returns, const LossWeights& weights,
                           std::span<T> dlogits, std::span<T> dvalues);

// Samples one action per row from softmax(logits (n, A)) by inverse transform of uniforms (n), each
// in [0, 1). Writes valid actions even if the logits are NaN or infinite.
void SampleActions(int n, int actions, std::span<const float> logits,
                   std::span<const float> uniforms, std::span<std::int32_t> taken);
void SampleActions(int n, int actions, std::span<const double> logits,
                   std::span<const float> uniforms, std::span<std::int32_t> taken);
// Takes the action with the largest logit, the first of equals.
void GreedyActions(int n, int actions, std::span<const float> logits,
                   std::span<std::int32_t> taken);

}  // namespace starling::net
