#include "net/loss.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "core/check.h"

namespace starling::net {
namespace {

// The distribution of one sample. All terms are relative to the largest logit: exp cannot overflow,
// the sum is at least 1 and large logits lose no digits.
template <class T>
struct Softmax {
  T top = 0, log_sum = 0, entropy = 0;

  // Writes the probabilities to p (actions).
  Softmax(int actions, const T* z, T* p) : top(*std::max_element(z, z + actions)) {
    T sum = 0, weighted = 0;
    for (int a = 0; a < actions; ++a) {
      p[a] = std::exp(z[a] - top);
      sum += p[a];
      weighted += p[a] * (z[a] - top);
    }
    for (int a = 0; a < actions; ++a) p[a] /= sum;
    log_sum = std::log(sum);
    entropy = log_sum - weighted / sum;  // -sum p log p; an action with p = 0 adds 0
  }
  T LogP(T logit) const { return logit - top - log_sum; }
};

}  // namespace

template <class T>
LossReport ActorCriticLoss(int n, int actions, std::span<const T> logits, std::span<const T> values,
                           std::span<const std::int32_t> taken, std::span<const T> advantages,
                           std::span<const T> returns, const LossWeights& weights,
                           std::span<T> dlogits, std::span<T> dvalues) {
  const std::size_t samples = n, size = samples * actions;
  CHECK(n >= 1 && actions >= 1 && logits.size() == size && dlogits.size() == size);
  CHECK(values.size() == samples && taken.size() == samples && advantages.size() == samples);
  CHECK(returns.size() == samples && dvalues.size() == samples);
  const T each = static_cast<T>(weights.scale / n);
  const T entropy_weight = static_cast<T>(weights.entropy);
  const T value_slope = static_cast<T>(2 * weights.value_coef);
  LossReport total;
  for (std::size_t i = 0; i < samples; ++i) {
    const T advantage = advantages[i], error = values[i] - returns[i];
    const int action = taken[i];
    CHECK(action >= 0 && action < actions, "action {} of {}", action, actions);
    const T* const z = &logits[i * actions];
    T* const d = &dlogits[i * actions];
    // 1. The terms of the report. Until step 2, d holds the probabilities.
    const Softmax<T> pi(actions, z, d);
    total.policy_loss -= advantage * (pi.LogP(z[action]));
    total.value_loss += error * error;
    total.entropy += pi.entropy;
    // 2. The gradient.
    for (int a = 0; a < actions; ++a) {
      // d(-log pi(taken))/dz_a = p_a - [a = taken];  d(-H)/dz_a = p_a (log p_a + H)
      const T p = d[a], one = a == action ? T(1) : T(0);
      d[a] = each * (advantage * (p - one) + entropy_weight * p * (pi.LogP(z[a]) + pi.entropy));
    }
    dvalues[i] = each * value_slope * error;
  }
  total.policy_loss /= n;
  total.value_loss /= n;
  total.entropy /= n;
  return total;
}

template LossReport ActorCriticLoss(int, int, std::span<const float>, std::span<const float>,
                                    std::span<const std::int32_t>, std::span<const float>,
                                    std::span<const float>, const LossWeights&, std::span<float>,
                                    std::span<float>);
template LossReport ActorCriticLoss(int, int, std::span<const double>, std::span<const double>,
                                    std::span<const std::int32_t>, std::span<const double>,
                                    std::span<const double>, const LossWeights&, std::span<double>,
                                    std::span<double>);

}  // namespace starling::net
