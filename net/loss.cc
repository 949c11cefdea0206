// The ops above a net on the host: net/loss.h, and the defaults of net/backend.h that run them.
#include "net/loss.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "core/check.h"
#include "net/backend.h"
#include "net/surrogate.h"

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

template <class T>
void Sample(int n, int actions, std::span<const T> logits, std::span<const float> uniforms,
            std::span<std::int32_t> taken) {
  const std::size_t samples = n, width = actions;
  CHECK(logits.size() == samples * width && uniforms.size() == samples && taken.size() == samples);
  std::vector<T> mass(width);
  for (std::size_t i = 0; i < samples; ++i) {
    // 1. The mass of each action, relative to that of the likeliest.
    const T* const z = &logits[i * width];
    const T top = *std::max_element(z, z + width);
    T total = 0;
    for (int a = 0; a < actions; ++a) {
      mass[a] = std::exp(z[a] - top);
      total += mass[a];
    }
    // 2. The first action whose cumulated mass exceeds u * total. If rounding lifts u * total to
    // total, there is none; then the last action with any mass is taken.
    const T target = uniforms[i] * total;
    T below = 0;
    taken[i] = 0;
    for (int a = 0; a < actions; ++a) {
      if (mass[a] > T(0)) taken[i] = a;
      below += mass[a];
      if (below > target) break;
    }
  }
}

template <class U>
void GatherRows(int n, int width, const std::int32_t* rows, const U* from, U* to) {
  for (int i = 0; i < n; ++i) {
    std::copy_n(from + std::int64_t{rows[i]} * width, width, to + std::int64_t{i} * width);
  }
}

}  // namespace

// Backwards in time: delta_t = r_t + gamma V_{t+1} - V_t and A_t = delta_t + gamma lambda A_{t+1}.
// If step t is the last of its episode, V_{t+1} and A_{t+1} count as zero.
template <class T>
void GeneralisedAdvantages(const AdvantagesArgs<T>& args) {
  const auto [shape, rewards, terminals, values, bootstrap, advantages, returns] = args;
  const int envs = shape.envs;
  const T discount = static_cast<T>(shape.gamma),
          decay = static_cast<T>(shape.gamma * shape.lambda);
  for (int t = shape.steps - 1; t >= 0; --t) {
    const bool last = t + 1 == shape.steps;
    for (int e = 0; e < envs; ++e) {
      const int i = t * envs + e;
      const T goes_on = terminals[i] != 0 ? T(0) : T(1);
      const T next_value = last ? bootstrap[e] : values[i + envs];
      const T next_advantage = last ? T(0) : advantages[i + envs];
      const T delta = rewards[i] + goes_on * discount * next_value - values[i];
      advantages[i] = delta + goes_on * decay * next_advantage;
      returns[i] = advantages[i] + values[i];
    }
  }
}

template <class T>
void ActorCriticLoss(const LossArgs<T>& args) {
  const auto [n, actions, logits, values, samples, weights, dlogits, dvalues, report] = args;
  CHECK(n >= 1 && actions >= 1, "{} samples of {} actions", n, actions);
  const T each = static_cast<T>(weights->scale / n);
  const T entropy_weight = static_cast<T>(weights->entropy);
  const T value_slope = static_cast<T>(2 * weights->value_coef);
  const T clip = static_cast<T>(weights->clip), value_clip = static_cast<T>(weights->value_clip);
  LossReport total;
  for (int i = 0; i < n; ++i) {
    const long long row = RowOf(samples.rows, i);
    const int action = samples.taken[row];
    CHECK(action >= 0 && action < actions, "action {} of {}", action, actions);
    const T* const z = logits + i * actions;
    T* const d = dlogits + i * actions;
    // 1. The terms of the report. Until step 2, d holds the probabilities.
    const Softmax<T> pi(actions, z, d);
    const PolicyTerm<T> policy = PolicyTermOf(samples, row, pi.LogP(z[action]), clip);
    const ValueTerm<T> value = ValueTermOf(samples, row, values[i], value_clip);
    total.policy_loss += policy.loss;
    total.value_loss += value.loss;
    total.entropy += pi.entropy;
    total.kl += policy.kl;
    total.clipped += policy.clipped;
    // 2. The gradient.
    for (int a = 0; a < actions; ++a) {
      // d(-log pi(taken))/dz_a = p_a - [a = taken];  d(-H)/dz_a = p_a (log p_a + H)
      const T p = d[a], one = a == action ? T(1) : T(0);
      d[a] = each * (policy.push * (p - one) + entropy_weight * p * (pi.LogP(z[a]) + pi.entropy));
    }
    dvalues[i] = each * value_slope * value.error;
  }
  *report = {total.policy_loss / n, total.value_loss / n, total.entropy / n, total.kl / n,
             total.clipped / n};
}

template <class T>
void LogProbs(const LogProbsArgs<T>& args) {
  std::vector<T> p(static_cast<std::size_t>(args.actions));
  for (int i = 0; i < args.n; ++i) {
    const long long row = RowOf(args.rows, i);
    const T* const z = args.logits + std::int64_t{i} * args.actions;
    args.logps[row] = Softmax<T>(args.actions, z, p.data()).LogP(z[args.taken[row]]);
  }
}

template <class T>
void AdvantageMoments(const MomentsArgs<T>& args) {
  const auto at = [&](int i) -> double { return args.advantages[RowOf(args.rows, i)]; };
  double sum = 0, squares = 0;
  for (int i = 0; i < args.n; ++i) sum += at(i);
  const double mean = sum / args.n;
  for (int i = 0; i < args.n; ++i) squares += (at(i) - mean) * (at(i) - mean);
  *args.moments = {mean, DeviationOf(squares, args.n)};
}

void SampleActions(int n, int actions, std::span<const float> logits,
                   std::span<const float> uniforms, std::span<std::int32_t> taken) {
  Sample(n, actions, logits, uniforms, taken);
}

void GreedyActions(int n, int actions, std::span<const float> logits,
                   std::span<std::int32_t> taken) {
  const std::size_t samples = n, width = actions;
  CHECK(logits.size() == samples * width && taken.size() == samples);
  for (std::size_t i = 0; i < samples; ++i) {
    const float* const z = &logits[i * width];
    taken[i] = static_cast<std::int32_t>(std::max_element(z, z + width) - z);
  }
}

template <class T>
void Backend<T>::SampleActions(int n, int actions, const T* logits, RandomStream* streams,
                               std::int32_t* taken) {
  const std::size_t rows = n;
  std::vector<float> uniforms(rows);
  for (std::size_t i = 0; i < rows; ++i) uniforms[i] = streams[i].Uniform();
  Sample<T>(n, actions, {logits, rows * actions}, uniforms, {taken, rows});
}

template <class T>
void Backend<T>::Gather(int n, int width, const std::int32_t* rows, const T* from, T* to) {
  GatherRows(n, width, rows, from, to);
}

template <class T>
void Backend<T>::Gather(int n, int width, const std::int32_t* rows, const std::uint8_t* from,
                        std::uint8_t* to) {
  GatherRows(n, width, rows, from, to);
}

template <class T>
void Backend<T>::AddBootstrap(const AddBootstrapArgs<T>& args) {
  const T gamma = static_cast<T>(args.gamma);
  for (int i = 0; i < args.n; ++i) {
    if (args.ends[i] == args.truncated) args.rewards[i] += gamma * args.values[i];
  }
}

template <class T>
void Backend<T>::ClipByGlobalNorm(std::size_t size, double max_norm, T* gradient, double* norm) {
  *norm = net::ClipByGlobalNorm(std::span(gradient, size), max_norm);
}

template void GeneralisedAdvantages(const AdvantagesArgs<float>&);
template void GeneralisedAdvantages(const AdvantagesArgs<double>&);
template void ActorCriticLoss(const LossArgs<float>&);
template void ActorCriticLoss(const LossArgs<double>&);
template void LogProbs(const LogProbsArgs<float>&);
template void LogProbs(const LogProbsArgs<double>&);
template void AdvantageMoments(const MomentsArgs<float>&);
template void AdvantageMoments(const MomentsArgs<double>&);
template class Backend<float>;
template class Backend<double>;

}  // namespace starling::net
