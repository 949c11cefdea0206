// The actor-critic loss: returns, advantages, the gradient at the heads; sampling actions. These
// are the ops above a net, with their definition on the host.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>

#include "core/random.h"
#include "net/norm.h"  // ClipByGlobalNorm
#include "net/policy.h"

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
  double scale = 1.0;     // 1: mean over samples; the unroll length if loss.reduction = "sum"
  double clip = 0.2;      // of PPO's ratio
  double value_clip = 0;  // of PPO's values; 0: none
};

// Means over the samples, without the weights above. Of PPO, also how far the policy has gone from
// the one that played, as an estimate of KL(old || new) (Schulman's r - 1 - log r, in nats), and
// the share of the samples whose ratio is outside of the clip.
struct LossReport {
  double policy_loss = 0, value_loss = 0, entropy = 0, kl = 0, clipped = 0;
};

// The mean and the deviation (of n - 1) of advantages: loss.normalize_advantage.
struct Moments {
  double mean = 0, deviation = 1;
};

// What a loss reads of the samples of an unroll. Sample i of a minibatch is element rows[i] of
// every array here; of a whole unroll, element i.
template <class T>
struct Samples {
  const std::int32_t* rows = nullptr;  // (n), or nullptr
  const std::int32_t* taken;           // (WIDTH) words each; choices are CHECKed on the host
  const T *advantages, *returns;
  const Moments* moments = nullptr;  // (1), or nullptr: advantages are taken as they are
  // For PPO: the log probability of `taken` under the policy that played, and under the proximal
  // one, which may be the same array; and the values of that time. nullptr: A2C.
  const T *old_logps = nullptr, *proximal_logps = nullptr, *old_values = nullptr;
};

// The loss of an actor-critic. Over n samples, with pi_i the distribution of row i of the logits
// (net/policy.h) and its entropy H(pi_i), in nats; of several choices or coordinates, log pi_i and
// H are sums over them:
//   loss = scale * [ mean_i(policy_i) + value_coef * mean_i(value_i) - entropy * mean_i(H(pi_i)) ]
// A2C, as in Stable-Baselines3, which has no factor 1/2 in the value term:
//   policy_i = -advantage_i log pi_i(taken_i)
//   value_i  = (return_i - value_i)^2
// PPO (Schulman et al. 2017, eq. 7), with r_i = pi_i(taken_i) / proximal_i(taken_i), decoupled
// where the proximal policy is not the old one (Hilton et al. 2022, eq. 2):
//   policy_i = -(proximal_i / old_i) min(r_i advantage_i, clamp(r_i, 1 +- clip) advantage_i)
//   value_i  = the larger of (return_i - v)^2 for v = value_i and, with value_clip, for
//              v = old_value_i + clamp(value_i - old_value_i, +- value_clip)
// Advantages and returns count as constants. Logits may be as large as 1e37, because all terms go
// through log-sum-exp. weights and report are arrays of one element, too: they may lie on a GPU.
template <class T>
struct LossArgs {
  int n;
  PolicyShape policy;
  const T* logits;  // (n, OUTPUTS)
  const T* values;  // (n)
  Samples<T> samples;
  const LossWeights* weights;  // (1)
  T *dlogits, *dvalues;        // (n, OUTPUTS), (n): the gradient
  LossReport* report;          // (1)
};
template <class T>
void ActorCriticLoss(const LossArgs<T>& args);

// logps[row] = log pi_i(taken[row]), where row is that of sample i.
template <class T>
struct LogProbsArgs {
  int n;
  PolicyShape policy;
  const T* logits;  // (n, OUTPUTS)
  const std::int32_t *rows = nullptr, *taken;
  T* logps;
};
template <class T>
void LogProbs(const LogProbsArgs<T>& args);

// The moments of advantages[rows[i]], i < n. The deviation is at least 1e-8: of one sample, or of
// equal ones, the normalised advantage is 0.
template <class T>
struct MomentsArgs {
  int n;
  const std::int32_t* rows = nullptr;
  const T* advantages;
  Moments* moments;  // (1)
};
template <class T>
void AdvantageMoments(const MomentsArgs<T>& args);

// Draws an action for each row of logits (n, OUTPUTS) from its stream (n): taken (n, WIDTH). The
// actions are valid even if the logits are NaN or infinite.
template <class T>
struct SampleActionsArgs {
  int n;
  PolicyShape policy;
  const T* logits;
  RandomStream* streams;
  std::int32_t* taken;
};
template <class T>
void SampleActions(const SampleActionsArgs<T>& args);

// Takes the likeliest action of each row of logits (n, OUTPUTS): taken (n, WIDTH).
void GreedyActions(int n, const PolicyShape& policy, std::span<const float> logits,
                   std::span<std::int32_t> taken);

}  // namespace starling::net
