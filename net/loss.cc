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

// The action of a row of an unroll. Choices are checked.
const std::int32_t* TakenAt(const PolicyShape& policy, const std::int32_t* taken, long long row) {
  const std::int32_t* const words = taken + row * policy.width;
  for (int k = 0; !policy.box && k < policy.width; ++k) {
    CHECK(words[k] >= 0 && words[k] < policy.values_of(k), "action {} of {}", words[k],
          policy.values_of(k));
  }
  return words;
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
  const auto [n, shape, logits, values, samples, weights, dlogits, dvalues, report] = args;
  CHECK(n >= 1 && shape.outputs >= 1, "{} samples of {} outputs", n, shape.outputs);
  const T each = static_cast<T>(weights->scale / n);
  const T entropy_weight = static_cast<T>(weights->entropy);
  const T value_slope = static_cast<T>(2 * weights->value_coef);
  const T clip = static_cast<T>(weights->clip), value_clip = static_cast<T>(weights->value_clip);
  LossReport total;
  for (int i = 0; i < n; ++i) {
    const long long row = RowOf(samples.rows, i);
    const std::int32_t* const taken = TakenAt(shape, samples.taken, row);
    T* const d = dlogits + std::int64_t{i} * shape.outputs;
    // 1. The terms of the report.
    const RowPolicy<T> pi(shape, logits + std::int64_t{i} * shape.outputs, taken, d);
    const PolicyTerm<T> policy = PolicyTermOf(samples, row, pi.logp(), clip);
    const ValueTerm<T> value = ValueTermOf(samples, row, values[i], value_clip);
    total.policy_loss += policy.loss;
    total.value_loss += value.loss;
    total.entropy += pi.entropy();
    total.kl += policy.kl;
    total.clipped += policy.clipped;
    // 2. The gradient.
    pi.Gradient(each, policy.push, entropy_weight, d);
    dvalues[i] = each * value_slope * value.error;
  }
  *report = {total.policy_loss / n, total.value_loss / n, total.entropy / n, total.kl / n,
             total.clipped / n};
}

template <class T>
void LogProbs(const LogProbsArgs<T>& args) {
  for (int i = 0; i < args.n; ++i) {
    const long long row = RowOf(args.rows, i);
    const T* const logits = args.logits + std::int64_t{i} * args.policy.outputs;
    const std::int32_t* const taken = TakenAt(args.policy, args.taken, row);
    args.logps[row] = RowPolicy<T>(args.policy, logits, taken, nullptr).logp();
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

template <class T>
void SampleActions(const SampleActionsArgs<T>& args) {
  const PolicyShape& policy = args.policy;
  for (std::int64_t i = 0; i < args.n; ++i) {
    DrawAction(policy, args.logits + i * policy.outputs, args.streams[i],
               args.taken + i * policy.width);
  }
}

void GreedyActions(int n, const PolicyShape& policy, std::span<const float> logits,
                   std::span<std::int32_t> taken) {
  const std::size_t rows = n, outputs = policy.outputs, width = policy.width;
  CHECK(logits.size() == rows * outputs && taken.size() == rows * width);
  for (std::size_t i = 0; i < rows; ++i) {
    LikeliestAction(policy, &logits[i * outputs], &taken[i * width]);
  }
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
template void SampleActions(const SampleActionsArgs<float>&);
template void SampleActions(const SampleActionsArgs<double>&);
template void AdvantageMoments(const MomentsArgs<float>&);
template void AdvantageMoments(const MomentsArgs<double>&);
template class Backend<float>;
template class Backend<double>;

}  // namespace starling::net
