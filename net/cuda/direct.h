// Products with few outputs: a thread holds all outputs of one cell in registers. For the first
// convolutions of small nets, without patches in memory, and for heads.
#pragma once

#include "net/cuda/elementwise.h"
#include "net/cuda/patches.h"

namespace starling::net::cuda {

// y (n, OH, OW, kOut) = activation(x * w + b): one thread for each cell of y. All threads of a warp
// read the same weights at the same time. REQUIRES: kWide divides KW * CIN.
template <int kOut, int kWide>
struct DirectConv {
  ConvForwardArgs<float> a;
  ConvDivisors by;

  HOST_DEVICE void operator()(long long i) const {
    const ConvShape& shape = a.shape;
    // 1. The first input of the cell's patch.
    int sample = static_cast<int>(i);
    const int ox = by.out_width.Split(sample), oy = by.out_height.Split(sample);
    const int row = sample * shape.height + oy * shape.stride;
    const float* in = a.x + (row * shape.width + ox * shape.stride) * shape.in_channels;
    // 2. Sum over the rows of the kernel.
    const float* weights = a.w;
    const int run = by.run.divisor();
    float sums[kOut] = {};
    for (int ky = 0; ky < shape.kernel_height; ++ky) {
      for (int j = 0; j < run; j += kWide, weights += kWide * kOut) {
        Accumulate(Load<kWide>(in + j), weights, sums);
      }
      in += shape.width * shape.in_channels;
    }
    for (int o = 0; o < kOut; o += 4) {
      Pack<4> out = Load<4>(a.b + o);
      for (int u = 0; u < 4; ++u) out.v[u] = Activated(a.activation, sums[o + u] + out.v[u]);
      Store(a.y + i * kOut + o, out);
    }
  }

 private:
  HOST_DEVICE static void Accumulate(const Pack<kWide>& in, const float* weights,
                                     float (&sums)[kOut]) {
    for (int v = 0; v < kWide; ++v) {
      for (int o = 0; o < kOut; o += 4) {
        const Pack<4> weight = Load<4>(weights + v * kOut + o);
        for (int u = 0; u < 4; ++u) sums[o + u] += in.v[v] * weight.v[u];
      }
    }
  }
};

// sums (kOut) += in * row (kOut) of dy.
template <int kOut>
HOST_DEVICE inline void AccumulateRow(float in, const float* row, float (&sums)[kOut]) {
  constexpr int kWide = kOut % 4 == 0 ? 4 : kOut % 2 == 0 ? 2 : 1;
  for (int o = 0; o < kOut; o += kWide) {
    const Pack<kWide> gradient = Load<kWide>(row + o);
    for (int u = 0; u < kWide; ++u) sums[o + u] += in * gradient.v[u];
  }
}

// The gradients of weights and biases, where a bias is the weight of an input that is always one.
// Writes partial (chunks, patch + 1, kOut): chunk c sums over the output cells
// [c * cells, (c + 1) * cells) of all samples, one thread for each chunk and input.
template <int kOut>
struct DirectWeightGradient {
  ConvBackwardWeightsArgs<float> a;
  ConvDivisors by;
  Divisor inputs;        // patch + 1
  int cells, all_cells;  // output cells of a chunk, of all samples
  float* partial;

  HOST_DEVICE void operator()(long long i) const {
    const ConvShape& shape = a.shape;
    // 1. The cells [begin, end) of this thread, and the place of the first.
    int chunk = static_cast<int>(i);
    const int k = inputs.Split(chunk);
    const int begin = chunk * cells;
    const int end = all_cells - begin < cells ? all_cells : begin + cells;
    int sample = begin;
    int ox = by.out_width.Split(sample), oy = by.out_height.Split(sample);
    const float* const from = a.x + InPatch(k);
    const bool bias = k + 1 == inputs.divisor();
    const int step = shape.stride * shape.in_channels;
    float sums[kOut] = {};
    // 2. Sum along rows of cells, four at a time, so that several loads are in flight.
    for (int cell = begin; cell < end;) {
      const int row = sample * shape.height + oy * shape.stride;
      const float* in = from + (row * shape.width + ox * shape.stride) * shape.in_channels;
      const int rest = by.out_width.divisor() - ox;
      const int row_end = end - cell < rest ? end : cell + rest;
      for (; cell + 4 <= row_end; cell += 4, in += 4 * step) {
        for (int u = 0; u < 4; ++u) {
          AccumulateRow(bias ? 1.0f : in[u * step], a.dy + 1ll * (cell + u) * kOut, sums);
        }
      }
      for (; cell < row_end; ++cell, in += step) {
        AccumulateRow(bias ? 1.0f : *in, a.dy + 1ll * cell * kOut, sums);
      }
      ox = 0;
      if (++oy == by.out_height.divisor()) {
        oy = 0;
        ++sample;
      }
    }
    for (int o = 0; o < kOut; ++o) partial[i * kOut + o] = sums[o];
  }

 private:
  // The offset of input k of a patch from the first input. k = patch is the bias.
  HOST_DEVICE int InPatch(int k) const {
    const int j = by.run.Split(k);
    return k * a.shape.width * a.shape.in_channels + j;
  }
};

// The same of a linear layer: partial (chunks, IN + 1, kOut), chunk c over the rows
// [c * rows, (c + 1) * rows) of x (n, IN).
template <int kOut>
struct NarrowWeightGradient {
  LinearBackwardWeightsArgs<float> a;
  Divisor inputs;  // IN + 1
  int rows;        // of a chunk
  float* partial;

  HOST_DEVICE void operator()(long long i) const {
    int chunk = static_cast<int>(i);
    const int k = inputs.Split(chunk), in = a.shape.in;
    const int begin = chunk * rows, end = a.n - begin < rows ? a.n : begin + rows;
    const bool bias = k == in;
    const float* const from = a.x + k;
    float sums[kOut] = {};
    // Four at a time, so that several loads are in flight.
    int row = begin;
    for (; row + 4 <= end; row += 4) {
      for (int u = 0; u < 4; ++u) {
        AccumulateRow(bias ? 1.0f : from[1ll * (row + u) * in], a.dy + 1ll * (row + u) * kOut,
                      sums);
      }
    }
    for (; row < end; ++row) {
      AccumulateRow(bias ? 1.0f : from[1ll * row * in], a.dy + 1ll * row * kOut, sums);
    }
    for (int o = 0; o < kOut; ++o) partial[i * kOut + o] = sums[o];
  }
};

// y (n, OUT) = activation(x (n, IN) . w (IN, OUT) + b): one warp for each number of y.
struct NarrowForward {
  LinearForwardArgs<float> a;
  Divisor out;

  template <class Lanes>
  HOST_DEVICE void operator()(long long i, const Lanes& lanes) const {
    int sample = static_cast<int>(i);
    const int o = out.Split(sample);
    const int in = a.shape.in, width = a.shape.out;
    const float *const row = a.x + 1ll * sample * in, *const column = a.w + o;
    const float sum = lanes.Sum(StridedSum<float>(
        lanes.index(), in, lanes.count(),
        [row, column, width](long long k) { return row[k] * column[k * width]; }));
    if (lanes.index() == 0) a.y[i] = Activated(a.activation, sum + a.b[o]);
  }
};

// dx (n, IN) = dy (n, OUT) . wT, or dx += that product; masked. One thread for each number of dx.
struct NarrowBackwardInput {
  LinearBackwardInputArgs<float> a;
  Divisor in;

  HOST_DEVICE void operator()(long long i) const {
    int sample = static_cast<int>(i);
    const long long k = in.Split(sample);
    const int out = a.shape.out;
    const float *const row = a.dy + 1ll * sample * out, *const weights = a.w + k * out;
    float sum = a.put == Put::kAdd ? a.dx[i] : 0.0f;
    for (int o = 0; o < out; ++o) sum += row[o] * weights[o];
    a.dx[i] = Masked(a.relu_output, i, sum);
  }
};

}  // namespace starling::net::cuda
