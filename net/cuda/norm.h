// Clipping by the global norm. Same rules as net/norm.h.
#pragma once

#include <algorithm>
#include <cmath>

#include "net/cuda/elementwise.h"

namespace starling::net::cuda {

// Warp g of `groups`: partial[g], its part of the sum of squares.
struct SumOfSquares {
  long long size, groups;
  const float* gradient;
  double* partial;

  template <class Lanes>
  HOST_DEVICE void operator()(long long g, const Lanes& lanes) const {
    const float* const from = gradient;
    const double sum = lanes.Sum(StridedSum<double>(g * lanes.count() + lanes.index(), size,
                                                    groups * lanes.count(), [from](long long j) {
                                                      const double value = from[j];
                                                      return value * value;
                                                    }));
    if (lanes.index() == 0) partial[g] = sum;
  }
};

// One warp: the norm, and the factor that clips the gradient to max_norm.
struct NormAndFactor {
  long long groups;
  double max_norm;
  const double* partial;
  double* norm;
  float* factor;

  template <class Lanes>
  HOST_DEVICE void operator()(long long, const Lanes& lanes) const {
    const double* const from = partial;
    const double sum = lanes.Sum(StridedSum<double>(lanes.index(), groups, lanes.count(),
                                                    [from](long long j) { return from[j]; }));
    if (lanes.index() != 0) return;
    const double root = std::sqrt(sum);
    const bool clip = max_norm > 0 && std::isfinite(sum) && root > max_norm;
    *norm = root;
    *factor = clip ? static_cast<float>(max_norm / root) : 1.0f;
  }
};

struct ScaleBy {
  const float* factor;
  float* gradient;

  HOST_DEVICE void operator()(long long i) const {
    if (*factor != 1.0f) gradient[i] *= *factor;
  }
};

// Scales gradient (size) to max_norm if its norm is larger. norm (1) is the norm before.
template <class Device>
void ClipByGlobalNorm(Work<Device>& work, long long size, double max_norm, float* gradient,
                      double* norm) {
  // 1. The sum of squares, in two stages.
  constexpr long long kOfAWarp = 256, kWarps = 2048;
  const long long groups = std::clamp(size / kOfAWarp, 1ll, kWarps);
  double* const partial = work.template Sums<double>(groups);
  work.device().ForEachWarp(groups, SumOfSquares{size, groups, gradient, partial});
  // 2. The norm and the factor, then the factor times the gradient.
  float* const factor = work.Factor();
  work.device().ForEachWarp(1, NormAndFactor{groups, max_norm, partial, norm, factor});
  if (max_norm > 0) work.device().ForEach(size, ScaleBy{factor, gradient});
}

}  // namespace starling::net::cuda
