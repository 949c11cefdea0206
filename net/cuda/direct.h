// Convolutions with few outputs (convolution.h says which), such as the first of a small net: a
// thread holds its sums in registers, and no patches are written to memory. A cell is the outputs
// of one place: all channels.
#pragma once

#include "net/cuda/elementwise.h"
#include "net/cuda/patches.h"

namespace starling::net::cuda {

// y (n, OH, OW, kOut) = activation(x * w + b): one thread for kCells cells of y, so that it loads a
// weight once for all of them. Adjacent threads take adjacent cells, and so load adjacent inputs
// and the same weights: each kApart threads take kCells * kApart cells, and those of a thread are
// kApart apart. REQUIRES: kWide, the inputs that are loaded at once, divides CIN; x is aligned to
// kWide floats, w, b and y to four; 4 divides kOut.
template <int kOut, int kWide, int kCells>
struct DirectConv {
  ConvForwardArgs<float> a;
  ConvDivisors by;
  int cells;  // of all samples

  static long long Threads(int cells) {
    constexpr int kTogether = kApart * kCells;
    return (cells + kTogether - 1ll) / kTogether * kApart;
  }

  HOST_DEVICE void operator()(long long i) const {
    const ConvShape& shape = a.shape;
    const int first = static_cast<int>(i / kApart * kApart * kCells + i % kApart);
    const int run = by.run.divisor();
    // 1. The first input of each patch. Cells behind the last one repeat it.
    int in[kCells];
    for (int c = 0; c < kCells; ++c) {
      const int cell = first + c * kApart;
      in[c] = PatchOf(cell < cells ? cell : cells - 1);
    }
    // 2. Sum over the rows of the kernel.
    const float *x = a.x, *weights = a.w;
    float sums[kCells][kOut] = {};
    for (int ky = 0; ky < shape.kernel_height; ++ky) {
      for (int j = 0; j < run; j += kWide, weights += kWide * kOut) {
        Accumulate(x + j, in, weights, sums);
      }
      x += shape.width * shape.in_channels;
    }
    // 3. Bias and activation.
    for (int o = 0; o < kOut; o += 4) {
      const Pack<4> bias = Load<4>(a.b + o);
      for (int c = 0; c < kCells; ++c) {
        const int cell = first + c * kApart;
        Pack<4> out;
        for (int u = 0; u < 4; ++u) out.v[u] = Activated(a.activation, sums[c][o + u] + bias.v[u]);
        if (cell < cells) Store(a.y + cell * kOut + o, out);
      }
    }
  }

 private:
  static constexpr int kApart = 32;  // a warp

  HOST_DEVICE int PatchOf(int cell) const {
    const int ox = by.out_width.Split(cell), oy = by.out_height.Split(cell);
    const int row = cell * a.shape.height + oy * a.shape.stride;
    return (row * a.shape.width + ox * a.shape.stride) * a.shape.in_channels;
  }
  HOST_DEVICE static void Accumulate(const float* x, const int (&in)[kCells], const float* weights,
                                     float (&sums)[kCells][kOut]) {
    Pack<kWide> inputs[kCells];
    for (int c = 0; c < kCells; ++c) inputs[c] = Load<kWide>(x + in[c]);
    for (int v = 0; v < kWide; ++v) {
      for (int o = 0; o < kOut; o += 4) {
        const Pack<4> weight = Load<4>(weights + v * kOut + o);
        for (int c = 0; c < kCells; ++c) {
          for (int u = 0; u < 4; ++u) sums[c][o + u] += inputs[c].v[v] * weight.v[u];
        }
      }
    }
  }
};

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

}  // namespace starling::net::cuda
