// Sums in two stages and a fixed order: many threads sum parts, then the parts are summed.
#pragma once

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

// The output of sums: one array after the other.
struct SumTarget {
  struct Array {
    float* to = nullptr;
    long long size = 0;
  };
  Array arrays[4];
  Put put = Put::kReplace;

  HOST_DEVICE void operator()(long long i, float sum) const {
    for (const Array& array : arrays) {
      if (i >= 0 && i < array.size) array.to[i] = put == Put::kAdd ? array.to[i] + sum : sum;
      i -= array.size;
    }
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

}  // namespace starling::net::cuda
