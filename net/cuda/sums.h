// Sums in two stages and a fixed order: many threads sum parts, then the parts are summed. The last
// bodies clip by the global norm, by the rules of net/norm.h.
#pragma once

#include <cmath>

#include "net/cuda/elementwise.h"
#include "net/op_args.h"

namespace starling::net::cuda {

// partial (chunks, columns): chunk c sums the rows c, c + chunks, ... of x (rows, columns).
// Adjacent threads read adjacent floats even if there are few columns.
struct ColumnPartials {
  long long size, threads;  // rows * columns, chunks * columns
  const float* x;
  float* partial;

  HOST_DEVICE void operator()(long long i) const {
    const float* const from = x;
    partial[i] = StridedSum<float>(i, size, threads, [from](long long j) { return from[j]; });
  }
};

// The output of sums: the first `split` go to the array `first`, the rest to `others`.
struct SumTarget {
  Put put = Put::kReplace;
  long long split;
  float* first;
  float* others = nullptr;

  HOST_DEVICE void operator()(long long i, float sum) const {
    float* const to = i < split ? first + i : others + (i - split);
    *to = put == Put::kAdd ? *to + sum : sum;
  }
};

// target (size) = the sum over the shares of partial (shares, size). One thread for each sum.
struct SumShares {
  int shares;
  long long size;
  const float* partial;
  SumTarget target;

  HOST_DEVICE void operator()(long long i) const {
    const float* const from = partial;
    target(i, StridedSum<float>(i, shares * size, size, [from](long long j) { return from[j]; }));
  }
};

// The same with one warp for each sum, for few sums of many shares.
struct SumSharesByWarps {
  int shares;
  long long size;
  const float* partial;
  SumTarget target;

  template <class Lanes>
  HOST_DEVICE void operator()(long long i, const Lanes& lanes) const {
    const float* const from = partial;
    const float sum =
        lanes.Sum(StridedSum<float>(i + lanes.index() * size, shares * size, lanes.count() * size,
                                    [from](long long j) { return from[j]; }));
    if (lanes.index() == 0) target(i, sum);
  }
};

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
