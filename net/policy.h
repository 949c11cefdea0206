// The policy's distribution over actions, read from a row of the net's outputs. The functions run
// on the host and on a GPU, in float and double.
//
//   choices   a softmax over the logits of each choice; the choices are independent
//   a box     a normal distribution of each coordinate, of its mean and the log of its deviation;
//             with tanh, the action is its tanh, and probabilities are densities of that
//
// Thread safety: pure functions.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

#include "core/action_space.h"
#include "core/cuda/each.h"
#include "core/random.h"

namespace starling::net {

// An ActionSpace as ops see it: a value that a GPU can take.
struct PolicyShape {
  int outputs = 1;  // numbers of a row: all logits; or the means, then the logs of the deviations
  int width = 1;    // 32-bit words of an action: integers, or floats
  // (width): how many logits each choice has, in the memory of the ops. nullptr: one choice.
  const std::int32_t* counts = nullptr;
  bool box = false, tanh = false;

  HOST_DEVICE int values_of(int choice) const {
    return counts == nullptr ? outputs : counts[choice];
  }
};
constexpr PolicyShape OneChoice(int values) { return {.outputs = values}; }

// The logit of a forbidden value: exp(kForbidden - top) is 0 for every top, and the difference is
// finite.
inline constexpr float kForbidden = -1e38f;

// Deviations count as at least e^-10 and at most e^10.
inline constexpr double kMostLogDeviation = 10;

template <class T>
HOST_DEVICE inline T Largest(int count, const T* values) {
  T top = values[0];
  for (int a = 1; a < count; ++a) {
    if (top < values[a]) top = values[a];
  }
  return top;
}

// The distribution of one choice. All terms are relative to the largest logit: exp cannot overflow,
// the sum is at least 1 and large logits lose no digits.
template <class T>
struct Softmax {
  T top = 0, log_sum = 0, entropy = 0;

  HOST_DEVICE Softmax() = default;
  // Writes the probabilities to p (count), unless that is nullptr.
  HOST_DEVICE Softmax(int count, const T* z, T* p) : top(Largest(count, z)) {
    T sum = 0, weighted = 0;
    for (int a = 0; a < count; ++a) {
      const T mass = std::exp(z[a] - top);
      if (p != nullptr) p[a] = mass;
      sum += mass;
      weighted += mass * (z[a] - top);
    }
    for (int a = 0; p != nullptr && a < count; ++a) p[a] /= sum;
    log_sum = std::log(sum);
    entropy = log_sum - weighted / sum;  // -sum p log p; a value with p = 0 adds 0
  }
  HOST_DEVICE T LogP(T logit) const { return logit - top - log_sum; }
};

// The distribution of one coordinate.
template <class T>
struct Gaussian {
  T mean = 0, log_deviation = 0;
  bool limited = false;  // the log of the deviation counts as another

  HOST_DEVICE Gaussian(T mean_output, T log_output) : mean(mean_output), log_deviation(log_output) {
    const T most = static_cast<T>(kMostLogDeviation);
    limited = !(log_output >= -most && log_output <= most);
    if (limited) log_deviation = log_output > most ? most : -most;
  }
  HOST_DEVICE T Distance(T u) const { return (u - mean) * std::exp(-log_deviation); }
  HOST_DEVICE T LogP(T u) const {
    const T z = Distance(u);
    return -z * z / 2 - log_deviation - static_cast<T>(kHalfLog2Pi);
  }
  HOST_DEVICE T entropy() const { return log_deviation + static_cast<T>(0.5 + kHalfLog2Pi); }

 private:
  static constexpr double kHalfLog2Pi = 0.91893853320467274178;
};

// log(d tanh(u) / du), without cancellation: 2 (log 2 - u - log(1 + e^-2u)).
template <class T>
HOST_DEVICE inline T LogTanhSlope(T u) {
  const T size = std::fabs(u);
  return 2 * (static_cast<T>(std::numbers::ln2) - size - std::log1p(std::exp(-2 * size)));
}

// What tanh adds to the entropy of a normal distribution, the mean of log(d tanh(u) / du), and its
// derivatives. It has no closed form: a Gauss-Hermite sum over 16 points, exact to 1e-4 for
// deviations up to 1 (tests/net/policy_test.cc).
template <class T>
struct TanhEntropy {
  T entropy = 0, by_mean = 0, by_log_deviation = 0;

  HOST_DEVICE explicit TanhEntropy(const Gaussian<T>& normal) {
    constexpr int kPairs = 8;
    constexpr double kPoints[kPairs] = {0.38676060450055738, 1.1638291005549648, 1.9519803457163334,
                                        2.7602450476307014,  3.6008736241715487, 4.4929553025200111,
                                        5.4722257059493433,  6.6308781983931286};
    constexpr double kWeights[kPairs] = {0.28656852123801202,    0.1583383727509497,
                                         0.04728475235401406,    0.0072669376011847489,
                                         0.0005259849265739087,  1.530003216248732e-05,
                                         1.3094732162868171e-07, 1.4978147231618412e-10};
    const T deviation = std::exp(normal.log_deviation);
    for (int i = 0; i < 2 * kPairs; ++i) {
      const T point = static_cast<T>(i % 2 == 0 ? kPoints[i / 2] : -kPoints[i / 2]);
      const T weight = static_cast<T>(kWeights[i / 2]), u = normal.mean + deviation * point;
      const T slope = -2 * std::tanh(u);
      entropy += weight * LogTanhSlope(u);
      by_mean += weight * slope;
      by_log_deviation += weight * slope * deviation * point;
    }
  }
};

// The distribution of a row of outputs, and an action of it.
template <class T>
class RowPolicy {
 public:
  // Probabilities of choices go to p (outputs), unless that is nullptr.
  HOST_DEVICE RowPolicy(const PolicyShape& shape, const T* row, const std::int32_t* taken, T* p)
      : shape_(shape), row_(row), taken_(taken) {
    int first = 0;  // logit of the choice
    for (int k = 0; k < shape.width; ++k) {
      if (shape.box) {
        AddCoordinate(k);
        continue;
      }
      const int count = shape.values_of(k);
      last_ = Softmax<T>(count, row + first, p == nullptr ? nullptr : p + first);
      logp_ += last_.LogP(row[first + taken[k]]);
      entropy_ += last_.entropy;
      first += count;
    }
  }

  HOST_DEVICE T logp() const { return logp_; }  // of the action
  HOST_DEVICE T entropy() const { return entropy_; }

  // Writes to d (outputs) the gradient of scale (-push logp - bonus entropy) by the row.
  // REQUIRES: choices: d is the p of the constructor.
  HOST_DEVICE void Gradient(T scale, T push, T bonus, T* d) const {
    int first = 0;
    for (int k = 0; k < shape_.width; ++k) {
      if (shape_.box) {
        OfCoordinate(k, scale, push, bonus, d);
        continue;
      }
      const int count = shape_.values_of(k);
      OfChoice(count, row_ + first, taken_[k], scale, push, bonus, d + first);
      first += count;
    }
  }

 private:
  HOST_DEVICE Gaussian<T> CoordinateOf(int k) const { return {row_[k], row_[shape_.width + k]}; }

  HOST_DEVICE void AddCoordinate(int k) {
    const Gaussian<T> normal = CoordinateOf(k);
    const T u = FloatOf(taken_[k]);
    logp_ += normal.LogP(u);
    entropy_ += normal.entropy();
    if (!shape_.tanh) return;
    logp_ -= LogTanhSlope(u);
    entropy_ += TanhEntropy<T>(normal).entropy;
  }

  // With z = (u - mean) / deviation: d(-log p)/d mean = -z / deviation, by its log 1 - z^2.
  HOST_DEVICE void OfCoordinate(int k, T scale, T push, T bonus, T* d) const {
    const Gaussian<T> normal = CoordinateOf(k);
    const T z = normal.Distance(FloatOf(taken_[k]));
    T by_mean = -push * z * std::exp(-normal.log_deviation), by_log = push * (1 - z * z) - bonus;
    if (shape_.tanh) {
      const TanhEntropy<T> more(normal);
      by_mean -= bonus * more.by_mean;
      by_log -= bonus * more.by_log_deviation;
    }
    d[k] = scale * by_mean;
    // Beyond its limits, the log gets the gradients that lead back and no others.
    const bool back = normal.log_deviation > 0 ? by_log > 0 : by_log < 0;
    d[shape_.width + k] = normal.limited && !back ? T(0) : scale * by_log;
  }

  // d(-log p(taken))/dz_a = p_a - [a = taken];  d(-H)/dz_a = p_a (log p_a + H)
  HOST_DEVICE void OfChoice(int count, const T* z, int taken, T scale, T push, T bonus,
                            T* d) const {
    const Softmax<T> pi = shape_.width == 1 ? last_ : Softmax<T>(count, z, nullptr);
    for (int a = 0; a < count; ++a) {
      const T p = d[a], one = a == taken ? T(1) : T(0);
      d[a] = scale * (push * (p - one) + bonus * p * (pi.LogP(z[a]) + pi.entropy));
    }
  }

  const PolicyShape& shape_;
  const T* row_;
  const std::int32_t* taken_;
  Softmax<T> last_;
  T logp_ = 0, entropy_ = 0;
};

// Draws a value by inverse transform of u in [0, 1): the first whose cumulated mass exceeds
// u * total. If rounding lifts u * total to total, there is none; then the last with any mass.
// Valid even if logits are NaN or infinite.
template <class T>
HOST_DEVICE inline std::int32_t DrawChoice(int count, const T* z, float u) {
  const T top = Largest(count, z);
  T total = 0, below = 0;
  for (int a = 0; a < count; ++a) total += std::exp(z[a] - top);
  const T target = u * total;
  std::int32_t chosen = 0;
  for (int a = 0; a < count; ++a) {
    const T mass = std::exp(z[a] - top);
    if (mass > T(0)) chosen = a;
    below += mass;
    if (below > target) break;
  }
  return chosen;
}

// Draws an action (width words) of a row: one Uniform of `stream` for each choice, one Normal for
// each coordinate.
template <class T>
HOST_DEVICE inline void DrawAction(const PolicyShape& shape, const T* row, RandomStream& stream,
                                   std::int32_t* words) {
  int first = 0;
  for (int k = 0; k < shape.width; ++k) {
    if (shape.box) {
      const Gaussian<T> normal(row[k], row[shape.width + k]);
      const T u = normal.mean + std::exp(normal.log_deviation) * stream.Normal();
      words[k] = WordOf(Finite(static_cast<float>(u)));
      continue;
    }
    const int count = shape.values_of(k);
    words[k] = DrawChoice(count, row + first, stream.Uniform());
    first += count;
  }
}

// The likeliest action of a row: of equal values the first, of a box the means.
template <class T>
HOST_DEVICE inline void LikeliestAction(const PolicyShape& shape, const T* row,
                                        std::int32_t* words) {
  int first = 0;
  for (int k = 0; k < shape.width; ++k) {
    if (shape.box) {
      words[k] = WordOf(Finite(static_cast<float>(row[k])));
      continue;
    }
    const int count = shape.values_of(k);
    std::int32_t best = 0;
    for (int a = 1; a < count; ++a) {
      if (row[first + best] < row[first + a]) best = a;
    }
    words[k] = best;
    first += count;
  }
}

}  // namespace starling::net
