// Products with few outputs, where a thread holds all outputs of a place in its registers: first
// convolutions of small nets without their patches ever being written, and heads.
#pragma once

#include "net/cuda/elementwise.h"
#include "net/cuda/patches.h"

namespace starling::net::cuda {

// y (n, OH, OW, kOut) = activation(x * w + b): a thread for each cell of y. All threads of a warp read
// the same weights, at once. kWide divides KW * CIN.
template <int kOut, int kWide>
struct DirectConv {
  ConvShape shape;
  ConvDivisors by;
  const float *x, *w, *b;
  Activation activation;
  float* y;

  HOST_DEVICE void operator()(long long i) const {
    std::uint32_t rest = static_cast<std::uint32_t>(i);
    const int ox = static_cast<int>(by.out_width.Split(rest));
    const int oy = static_cast<int>(by.out_height.Split(rest));
    const int row = static_cast<int>(rest) * shape.height + oy * shape.stride;
    const float* in = x + (row * shape.width + ox * shape.stride) * shape.in_channels;
    const float* weights = w;
    const int run = by.run.divisor();
    float sums[kOut] = {};
    for (int ky = 0; ky < shape.kernel_height; ++ky) {
      for (int j = 0; j < run; j += kWide, weights += kWide * kOut) {
        Accumulate(Load<kWide>(in + j), weights, sums);
      }
      in += shape.width * shape.in_channels;
    }
    for (int o = 0; o < kOut; o += 4) {
      Pack<4> out = Load<4>(b + o);
      for (int u = 0; u < 4; ++u) out.v[u] = Activated(activation, sums[o + u] + out.v[u]);
      Store(y + i * kOut + o, out);
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

// The gradients of weights and biases, a bias being the weight of an input that is always one: partial
// (chunks, patch + 1, kOut), summed over the output cells [c * cells, (c + 1) * cells) of all samples. A
// linear layer is a convolution of one sample: its samples are the cells of a row.
template <int kOut>
struct DirectWeightGradient {
  ConvShape shape;
  ConvDivisors by;
  Divisor inputs;        // by patch + 1
  int cells, all_cells;  // of a chunk, of all samples
  const float *x, *dy;
  float* partial;

  HOST_DEVICE void operator()(long long i) const {
    std::uint32_t chunk = static_cast<std::uint32_t>(i);
    const int k = static_cast<int>(inputs.Split(chunk));
    const int begin = static_cast<int>(chunk) * cells;
    const int end = all_cells - begin < cells ? all_cells : begin + cells;
    std::uint32_t sample = static_cast<std::uint32_t>(begin);
    int ox = static_cast<int>(by.out_width.Split(sample));
    int oy = static_cast<int>(by.out_height.Split(sample));
    const float* const from = x + InPatch(k);
    const bool bias = k + 1 == inputs.divisor();
    const int step = shape.stride * shape.in_channels;
    float sums[kOut] = {};
    // Along rows of cells, so that many loads are under way at once.
    for (int cell = begin; cell < end;) {
      const int row = static_cast<int>(sample) * shape.height + oy * shape.stride;
      const float* in = from + (row * shape.width + ox * shape.stride) * shape.in_channels;
      const int rest = by.out_width.divisor() - ox;
      const int row_end = end - cell < rest ? end : cell + rest;
      for (; cell + 4 <= row_end; cell += 4, in += 4 * step) {
        for (int u = 0; u < 4; ++u) Accumulate(bias ? 1.0f : in[u * step], cell + u, sums);
      }
      for (; cell < row_end; ++cell, in += step) Accumulate(bias ? 1.0f : *in, cell, sums);
      ox = 0;
      if (++oy == by.out_height.divisor()) {
        oy = 0;
        ++sample;
      }
    }
    for (int o = 0; o < kOut; ++o) partial[i * kOut + o] = sums[o];
  }

 private:
  static constexpr int kWide = kOut % 4 == 0 ? 4 : kOut % 2 == 0 ? 2 : 1;

  // Of input k of a patch, from its first; k = patch is the bias.
  HOST_DEVICE int InPatch(int k) const {
    std::uint32_t ky = static_cast<std::uint32_t>(k);
    const int j = static_cast<int>(by.run.Split(ky));
    return static_cast<int>(ky) * shape.width * shape.in_channels + j;
  }
  HOST_DEVICE void Accumulate(float in, int cell, float (&sums)[kOut]) const {
    const float* const from = dy + static_cast<long long>(cell) * kOut;
    for (int o = 0; o < kOut; o += kWide) {
      const Pack<kWide> gradient = Load<kWide>(from + o);
      for (int u = 0; u < kWide; ++u) sums[o + u] += in * gradient.v[u];
    }
  }
};

// y (n, OUT) = activation(x (n, IN) . w (IN, OUT) + b): a warp for each number of y.
struct NarrowForward {
  int in;
  Divisor out;
  const float *x, *w, *b;
  Activation activation;
  float* y;

  template <class Lanes>
  HOST_DEVICE void operator()(long long i, const Lanes& lanes) const {
    std::uint32_t sample = static_cast<std::uint32_t>(i);
    const std::uint32_t o = out.Split(sample);
    const float *const row = x + static_cast<long long>(sample) * in, *const column = w + o;
    const int width = out.divisor();
    const float sum = lanes.Sum(StridedSum<float>(
        lanes.index(), in, lanes.count(),
        [row, column, width](long long k) { return row[k] * column[k * width]; }));
    if (lanes.index() == 0) y[i] = Activated(activation, sum + b[o]);
  }
};

// dx (n, IN) = dy (n, OUT) . wT, or is added to it; and the mask.
struct NarrowBackwardInput {
  Divisor in;
  int out;
  const float *w, *dy;
  Put put;
  const float* relu_output;
  float* dx;

  HOST_DEVICE void operator()(long long i) const {
    std::uint32_t sample = static_cast<std::uint32_t>(i);
    const long long k = in.Split(sample);
    float sum = put == Put::kAdd ? dx[i] : 0.0f;
    for (int o = 0; o < out; ++o)
      sum += dy[static_cast<long long>(sample) * out + o] * w[k * out + o];
    dx[i] = Masked(relu_output, i, sum);
  }
};

}  // namespace starling::net::cuda
