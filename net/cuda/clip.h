// Clipping by the global norm; same rules as net/norm.h.
#pragma once

#include <cmath>

#include "net/cuda/pack.h"

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

}  // namespace starling::net::cuda
