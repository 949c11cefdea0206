// Ops on the rows of an array. Same formulas as net/rows.cc.
#pragma once

#include "net/cuda/elementwise.h"
#include "net/policy.h"
#include "net/rows.h"

namespace starling::net::cuda {

// One thread for each number.
struct CopyColumns {
  CopyColumnsArgs<float> a;
  Divisor width;

  HOST_DEVICE void operator()(long long i) const {
    int row = static_cast<int>(i);
    const int column = width.Split(row);
    a.to[1ll * row * a.to_row + column] = a.from[1ll * row * a.from_row + column];
  }
};

// One warp for each column.
struct SumRows {
  SumRowsArgs<float> a;

  template <class Lanes>
  HOST_DEVICE void operator()(long long column, const Lanes& lanes) const {
    const float* const from = a.x + column;
    const long long row = a.row;
    const float sum = lanes.Sum(StridedSum<float>(
        lanes.index(), a.n, lanes.count(), [from, row](long long i) { return from[i * row]; }));
    if (lanes.index() == 0) a.sum[column] = sum;
  }
};

struct MaskLogits {
  MaskLogitsArgs<float> a;
  Divisor width;

  HOST_DEVICE void operator()(long long i) const {
    int row = static_cast<int>(i);
    const int column = width.Split(row);
    if (a.mask[1ll * row * a.row + column] == 0) a.logits[i] = kForbidden;
  }
};

// One thread for each number.
template <class T>
struct Gather {
  long long width;
  const std::int32_t* rows;
  const T* from;
  T* to;

  HOST_DEVICE void operator()(long long i) const {
    const long long row = i / width, within = i - row * width;
    to[i] = from[rows[row] * width + within];
  }
};

}  // namespace starling::net::cuda
