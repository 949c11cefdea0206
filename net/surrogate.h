// What one sample adds to the losses of net/loss.h, for the host and for a GPU.
#pragma once

#include <cmath>

#include "core/cuda/each.h"
#include "net/loss.h"

namespace starling::net {

// The element of the arrays of an unroll that belongs to sample i.
HOST_DEVICE inline long long RowOf(const std::int32_t* rows, long long i) {
  return rows != nullptr ? rows[i] : i;
}

template <class T>
struct PolicyTerm {
  T loss = 0;
  T push = 0;  // -d loss / d log pi(taken)
  T kl = 0, clipped = 0;
};

// `logp`: the log probability now of the action taken in `row`.
template <class T>
HOST_DEVICE inline PolicyTerm<T> PolicyTermOf(const Samples<T>& samples, long long row, T logp,
                                              T clip) {
  T advantage = samples.advantages[row];
  if (samples.moments != nullptr) {
    advantage = (advantage - static_cast<T>(samples.moments->mean)) /
                static_cast<T>(samples.moments->deviation);
  }
  if (samples.old_logps == nullptr) return {-advantage * logp, advantage, T(0), T(0)};
  // 1. The ratio to the proximal policy, and of that one to the policy that played.
  const T proximal = samples.proximal_logps[row], old = samples.old_logps[row];
  const T ratio = std::exp(logp - proximal), weight = std::exp(proximal - old);
  const T low = 1 - clip, high = 1 + clip;
  // 2. The smaller of the two products. Where that is the clipped one, the gradient is 0.
  const bool ends = advantage > 0 ? ratio > high : ratio < low;
  const T counted = !ends ? ratio : advantage > 0 ? high : low;
  return {-weight * counted * advantage, ends ? T(0) : weight * ratio * advantage,
          std::expm1(logp - old) - (logp - old), ratio < low || ratio > high ? T(1) : T(0)};
}

// From the sum of the squares of n differences from their mean.
HOST_DEVICE inline double DeviationOf(double squares, int n) {
  constexpr double kLeast = 1e-8;
  return (n > 1 ? std::sqrt(squares / (n - 1)) : 0.0) + kLeast;
}

template <class T>
struct ValueTerm {
  T loss = 0;
  T error = 0;  // half of d loss / d value
};

template <class T>
HOST_DEVICE inline ValueTerm<T> ValueTermOf(const Samples<T>& samples, long long row, T value,
                                            T clip) {
  const T error = value - samples.returns[row];
  if (samples.old_values == nullptr || clip <= 0) return {error * error, error};
  const T old = samples.old_values[row], moved = value - old;
  const T limited = moved > clip ? clip : moved < -clip ? -clip : moved;
  const T other = old + limited - samples.returns[row];
  if (other * other <= error * error) return {error * error, error};
  return {other * other, limited == moved ? other : T(0)};
}

}  // namespace starling::net
