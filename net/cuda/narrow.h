// Fully connected layers with few outputs, such as heads: kOut of them, and one more if a layer of
// one output beside it reads the same x (PairForward in net/backend.h).
#pragma once

#include "net/cuda/elementwise.h"

namespace starling::net::cuda {

inline constexpr int kNarrow = 8;  // the largest kOut

// y (n, kOut) = activation(x (n, IN) . w (IN, kOut) + b): one warp for each row.
template <int kOut>
struct NarrowForward {
  LinearForwardArgs<float> a;
  LinearForwardArgs<float> beside;  // its y is nullptr if there is none

  template <class Lanes>
  HOST_DEVICE void operator()(long long row, const Lanes& lanes) const {
    const int in = a.shape.in;
    const float* const x = a.x + row * in;
    float sums[kOut] = {}, sum_beside = 0;
    for (int k = lanes.index(); k < in; k += lanes.count()) {
      AccumulateRow(x[k], a.w + k * kOut, sums);
      if (beside.y != nullptr) sum_beside += x[k] * beside.w[k];
    }
    for (int o = 0; o < kOut; ++o) sums[o] = lanes.Sum(sums[o]);
    if (beside.y != nullptr) sum_beside = lanes.Sum(sum_beside);
    if (lanes.index() != 0) return;
    for (int o = 0; o < kOut; ++o) {
      a.y[row * kOut + o] = Activated(a.activation, sums[o] + a.b[o]);
    }
    if (beside.y != nullptr) beside.y[row] = Activated(beside.activation, sum_beside + *beside.b);
  }
};

// The gradients of weights and biases, where a bias is the weight of an input that is always one.
// Writes partial (chunks, sums): first (IN + 1, kOut), then (IN + 1) of the layer beside it. Chunk
// c sums over the rows [c * rows, (c + 1) * rows), one thread for each chunk and input.
template <int kOut>
struct NarrowWeightGradient {
  LinearBackwardWeightsArgs<float> a;
  LinearBackwardWeightsArgs<float> beside;  // its dw is nullptr if there is none
  Divisor inputs;                           // IN + 1
  int rows;                                 // of a chunk
  float* partial;

  HOST_DEVICE void operator()(long long i) const {
    int chunk = static_cast<int>(i);
    const int k = inputs.Split(chunk), width = inputs.divisor();
    const int begin = chunk * rows, end = a.n - begin < rows ? a.n : begin + rows;
    float sums[kOut] = {}, sum_beside = 0;
    // Four at a time, so that several loads are in flight.
    int row = begin;
    for (; row + 4 <= end; row += 4) {
      for (int u = 0; u < 4; ++u) Add(row + u, k, sums, sum_beside);
    }
    for (; row < end; ++row) Add(row, k, sums, sum_beside);
    float* const to = partial + 1ll * chunk * width * (beside.dw == nullptr ? kOut : kOut + 1);
    for (int o = 0; o < kOut; ++o) to[k * kOut + o] = sums[o];
    if (beside.dw != nullptr) to[width * kOut + k] = sum_beside;
  }

 private:
  HOST_DEVICE void Add(long long row, int k, float (&sums)[kOut], float& sum_beside) const {
    const int in = a.shape.in;
    const float x = k == in ? 1.0f : a.x[row * in + k];
    AccumulateRow(x, a.dy + row * kOut, sums);
    if (beside.dw != nullptr) sum_beside += x * beside.dy[row];
  }
};

// dx (n, IN) = dy (n, kOut) . wT, or dx += that product; masked. One thread for kRows adjacent rows
// of a column of dx, so that it loads its weights once for all of them.
template <int kOut>
struct NarrowBackwardInput {
  LinearBackwardInputArgs<float> a;
  LinearBackwardInputArgs<float> beside;  // its dx is nullptr if there is none
  Divisor in;

  static long long Threads(long long n, int in) { return (n + kRows - 1) / kRows * in; }

  HOST_DEVICE void operator()(long long i) const {
    // 1. The weights of the column.
    int group = static_cast<int>(i);
    const int k = in.Split(group), first = group * kRows;
    float weights[kOut] = {};
    AccumulateRow(1.0f, a.w + k * kOut, weights);  // loads them in packs
    const float weight_beside = beside.dx == nullptr ? 0.0f : beside.w[k];
    // 2. All sums before any is stored, so that the loads of all rows are in flight together. Rows
    // behind the last one repeat it.
    float sums[kRows];
    for (int u = 0; u < kRows; ++u) {
      const long long row = first + u < a.n ? first + u : a.n - 1, at = row * in.divisor() + k;
      float sum = a.put == Put::kAdd ? a.dx[at] : 0.0f;
      for (int o = 0; o < kOut; ++o) sum += a.dy[row * kOut + o] * weights[o];
      if (beside.dx != nullptr) sum += beside.dy[row] * weight_beside;
      sums[u] = Masked(a.relu_output, at, sum);
    }
    for (int u = 0; u < kRows; ++u) {
      if (first + u < a.n) a.dx[(first + u) * 1ll * in.divisor() + k] = sums[u];
    }
  }

 private:
  static constexpr int kRows = 4;
};

}  // namespace starling::net::cuda
