#include "net/loss.h"

#include <algorithm>
#include <cmath>

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
void ActorCriticLoss(const LossArgs<T>& args) {
  const auto [n, actions, logits, values, taken, advantages, returns, weights, dlogits, dvalues,
              report] = args;
  CHECK(n >= 1 && actions >= 1, "{} samples of {} actions", n, actions);
  const T each = static_cast<T>(weights->scale / n);
  const T entropy_weight = static_cast<T>(weights->entropy);
  const T value_slope = static_cast<T>(2 * weights->value_coef);
  LossReport total;
  for (int i = 0; i < n; ++i) {
    const T advantage = advantages[i], error = values[i] - returns[i];
    const int action = taken[i];
    CHECK(action >= 0 && action < actions, "action {} of {}", action, actions);
    const T* const z = logits + i * actions;
    T* const d = dlogits + i * actions;
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
  *report = {total.policy_loss / n, total.value_loss / n, total.entropy / n};
}

template void ActorCriticLoss(const LossArgs<float>&);
template void ActorCriticLoss(const LossArgs<double>&);

}  // namespace starling::net
