// Statistics of the numbers that environments give, and their use: observations with mean 0 and
// deviation 1, rewards in units of the deviation of their discounted returns. The functions run on
// the host, in float and double; cuda/running.h has those of a GPU.
//
// A picture has statistics of its own. All else has running ones, as sums: the count of a number,
// the sum of its values and that of their squares. These sums are parameters. Their names end in
// ".sums", and they stand behind all that gradients train (net/parameters.h). An actor sends the
// sums of its unroll in the place of their gradient; the learner adds them up
// (learner/apply/running_sums.h). So they have versions, as weights do.
//
// Thread safety: pure functions.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/cuda/each.h"

namespace starling::net {

// The floats of a number: count, sum, sum of squares, 0, and what rounding left of each: as floats
// alone, millions of small addends would get lost in them. Two numbers fill a cache line, so no
// slice of a flat vector divides one.
inline constexpr int kSumsOfNumber = 8;
inline constexpr int kRest = 4;  // from a sum to what is left of it

template <class T>
HOST_DEVICE inline double SumAt(const T* sum) {
  return static_cast<double>(sum[0]) + static_cast<double>(sum[kRest]);
}
// A sum that is too large for a float becomes the largest.
template <class T>
HOST_DEVICE inline void PutSum(double value, T* sum) {
  constexpr double kMost = 3.4028234663852886e38;
  value = value > kMost ? kMost : value < -kMost ? -kMost : value;
  sum[0] = static_cast<T>(value);
  sum[kRest] = static_cast<T>(value - static_cast<double>(sum[0]));
}

// Standardized numbers and scaled rewards lie within [-kMostStandard, kMostStandard].
inline constexpr float kMostStandard = 10;

struct Spread {
  double mean = 0, scale = 1;  // 1 / deviation
};

// The least variance, as a share of the square of the mean: sums of squares of floats cannot tell a
// deviation below a thousandth of the mean from rounding. And what is added to every variance.
inline constexpr double kLeastVariance = 1e-6, kMoreVariance = 1e-8;

// Of nothing seen: mean 0, deviation 1.
HOST_DEVICE inline Spread SpreadOf(double count, double sum, double squares) {
  if (!(count > 0)) return {};
  const double mean = sum / count, least = kLeastVariance * mean * mean;
  const double variance = squares / count - mean * mean;
  return {mean, 1 / std::sqrt((variance > least ? variance : least) + kMoreVariance)};
}
template <class T>
HOST_DEVICE inline Spread SpreadOf(const T* sums) {
  return SpreadOf(SumAt(sums), SumAt(sums + 1), SumAt(sums + 2));
}

template <class T>
HOST_DEVICE inline T Standard(double value) {
  constexpr double kMost = kMostStandard;
  return static_cast<T>(value > kMost ? kMost : value < -kMost ? -kMost : value);
}

// to[i, j] = (from[i, j] - mean of number j) / its deviation, for i < n, j < WIDTH.
template <class T>
struct StandardizeArgs {
  int n, width;
  const T* from;  // (n, from_row), from its first column on
  int from_row;
  const T* sums;  // (WIDTH, 8)
  T* to;          // (n, to_row), likewise
  int to_row;
};
template <class T>
void Standardize(const StandardizeArgs<T>& args);

// Each channel of a picture less its mean over the picture's cells, divided by its deviation there.
// Pictures are (CELLS, CHANNELS); a channel of one value becomes zeros.
template <class T>
struct StandardizePicturesArgs {
  int n, cells, channels;
  const T* from;  // (n, from_row), from the picture's first column on
  int from_row;
  T* to;  // (n, to_row), likewise
  int to_row;
};
template <class T>
void StandardizePictures(const StandardizePicturesArgs<T>& args);

// to[j] = factor x (n, the sum of x[i, j] over i, that of its squares), as the floats of a number.
template <class T>
struct SumMomentsArgs {
  int n, width;
  const T* x;  // (n, row), from its first column on
  int row;
  double factor;
  T* to;  // (WIDTH, 8)
};
template <class T>
HOST_DEVICE inline void PutMoments(const SumMomentsArgs<T>& args, std::int64_t j, double sum,
                                   double squares) {
  T* const to = args.to + j * kSumsOfNumber;
  PutSum(args.factor * args.n, to);
  PutSum(args.factor * sum, to + 1);
  PutSum(args.factor * squares, to + 2);
  PutSum(0, to + 3);
}
template <class T>
void SumMoments(const SumMomentsArgs<T>& args);

// One step of n environments: now[i] = rewards[i] + gamma x before[i], without the last term where
// an episode begins; then rewards[i] is divided by the deviation of these discounted returns
// (Engstrom et al. 2020: the scaling of PPO's first implementation).
template <class T>
struct ScaleRewardsArgs {
  int n;
  double gamma;
  const T* sums;               // (1, 8)
  const std::uint8_t* resets;  // (n): not 0 where the step is the first of an episode
  const T* before;             // (n)
  T* now;                      // (n)
  T* rewards;                  // (n)
};
template <class T>
HOST_DEVICE inline void ScaleReward(const ScaleRewardsArgs<T>& args, std::int64_t i) {
  const T kept = args.resets[i] != 0 ? T(0) : static_cast<T>(args.gamma) * args.before[i];
  args.now[i] = args.rewards[i] + kept;
  args.rewards[i] = Standard<T>(args.rewards[i] * SpreadOf(args.sums).scale);
}
template <class T>
void ScaleRewards(const ScaleRewardsArgs<T>& args);

}  // namespace starling::net
