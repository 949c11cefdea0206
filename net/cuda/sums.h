// Sums over rows, in two stages and a fixed order: parts of the rows by many threads, then the parts.
#pragma once

#include "net/backend.h"
#include "net/cuda/pack.h"

namespace starling::net::cuda {

// partial (chunks, columns): chunk c sums the rows c, c + chunks, ... of x (rows, columns). Adjacent
// threads read adjacent floats, however few columns there are.
struct ColumnPartials {
  long long size, threads;  // rows * columns, chunks * columns
  const float* x;
  float* partial;

  HOST_DEVICE void operator()(long long i) const {
    const float* const from = x;
    partial[i] = StridedSum<float>(i, size, threads, [from](long long j) { return from[j]; });
  }
};

// Where sums go: the first `split` to one array, the others to another.
struct SumTarget {
  Put put;
  long long split;
  float *first, *others;

  HOST_DEVICE void operator()(long long i, float sum) const {
    float* const to = i < split ? first + i : others + (i - split);
    *to = put == Put::kAdd ? *to + sum : sum;
  }
};

// target (size) = the sum over the shares of partial (shares, size): of many numbers, a thread each.
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

// The same of few numbers and many shares: a warp each.
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

}  // namespace starling::net::cuda
