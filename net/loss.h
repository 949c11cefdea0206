// The actor-critic loss: returns, advantages, the gradient at the heads; sampling actions. These
// are the ops above a net, with their definition on the host.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>

#include "net/norm.h"  // ClipByGlobalNorm

namespace starling::net {

// A block of an unroll, and the discounts of its rewards.
struct UnrollShape {
  int steps = 1, envs = 1;
  double gamma = 0.99, lambda = 1;
};

// Generalised advantage estimation (Schulman et al. 2016, eq. 16); lambda = 1 gives n-step returns.
// All arrays are time-major. A nonzero terminal ends the sum at its step.
template <class T>
struct AdvantagesArgs {
  UnrollShape shape;
  const T* rewards;               // (T, B)
  const std::uint8_t* terminals;  // (T, B)
  const T* values;                // (T, B)
  const T* bootstrap;             // (B): the value of the state after the last step
  T *advantages, *returns;        // (T, B): returns = advantages + values
};
template <class T>
void GeneralisedAdvantages(const AdvantagesArgs<T>& args);

// rewards += gamma values, where ends is `truncated` (Pardo et al. 2018).
template <class T>
struct AddBootstrapArgs {
  int n;
  double gamma;
  const std::uint8_t* ends;  // (n)
  std::uint8_t truncated;
  const T* values;  // (n)
  T* rewards;       // (n)
};

struct LossWeights {
  double value_coef = 0.5;
  double entropy = 0.01;
  double scale = 1.0;  // 1: mean over samples; the unroll length if loss.reduction = "sum"
};

// Means over the samples, without the weights above.
struct LossReport {
  double policy_loss = 0, value_loss = 0, entropy = 0;
};

// The loss of A2C as in Stable-Baselines3, which has no factor 1/2 in the value term. Over n
// samples, with pi_i = softmax(logits_i) and entropy H(p) = -sum_a p_a log p_a (in nats):
//   loss = scale * [ mean_i(-advantage_i log pi_i(taken_i))
//                  + value_coef * mean_i((return_i - value_i)^2) - entropy * mean_i(H(pi_i)) ]
// Advantages and returns count as constants. Logits may be as large as 1e37, because all terms go
// through log-sum-exp. weights and report are arrays of one element, too: they may lie on a GPU.
template <class T>
struct LossArgs {
  int n, actions;
  const T* logits;                // (n, A)
  const T* values;                // (n)
  const std::int32_t* taken;      // (n), in [0, A): CHECKed on the host
  const T *advantages, *returns;  // (n)
  const LossWeights* weights;     // (1)
  T *dlogits, *dvalues;           // (n, A), (n): the gradient
  LossReport* report;             // (1)
};
template <class T>
void ActorCriticLoss(const LossArgs<T>& args);

// Samples one action per row from softmax(logits (n, A)) by inverse transform of uniforms (n), each
// in [0, 1). Writes valid actions even if the logits are NaN or infinite.
void SampleActions(int n, int actions, std::span<const float> logits,
                   std::span<const float> uniforms, std::span<std::int32_t> taken);
// Takes the action with the largest logit, the first of equals.
void GreedyActions(int n, int actions, std::span<const float> logits,
                   std::span<std::int32_t> taken);

}  // namespace starling::net
