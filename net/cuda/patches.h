// Convolution as a product: the patches of the input as a matrix, and its adjoint.
#pragma once

#include "net/cuda/elementwise.h"

namespace starling::net::cuda {

// The divisors that turn the index of a number into its place in an array of patches or of inputs.
struct ConvDivisors {
  Divisor run;                                   // of patches: a kernel row, KW * CIN numbers
  Divisor kernel_height, out_width, out_height;  // of patches
  Divisor in_channels, width, height, stride;    // of inputs

  explicit ConvDivisors(const ConvShape& s)
      : run(s.kernel_width * s.in_channels),
        kernel_height(s.kernel_height),
        out_width(s.out_width()),
        out_height(s.out_height()),
        in_channels(s.in_channels),
        width(s.width),
        height(s.height),
        stride(s.stride) {}
};

// patches (n, OH, OW, KH, KW, CIN) of x (n, H, W, CIN). The KW * CIN floats of a kernel row are
// adjacent in both.
template <int kWide>
struct Patches {
  ConvShape shape;
  ConvDivisors by;
  const float* x;
  float* patches;

  HOST_DEVICE void operator()(long long i) const {
    int sample = static_cast<int>(i * kWide);
    const int j = by.run.Split(sample), ky = by.kernel_height.Split(sample);
    const int ox = by.out_width.Split(sample), oy = by.out_height.Split(sample);
    const int row = sample * shape.height + oy * shape.stride + ky;  // of all samples
    const int cell = row * shape.width + ox * shape.stride;
    Store(patches + i * kWide, Load<kWide>(x + cell * shape.in_channels + j));
  }
};

// The adjoint: dx (n, H, W, CIN), each number the sum over the patches that contain it; masked.
template <int kWide>
struct GatherPatches {
  ConvShape shape;
  ConvDivisors by;
  const float *patches, *relu_output;
  float* dx;

  HOST_DEVICE void operator()(long long i) const {
    // 1. The place of this number, and the outputs whose kernels cover it.
    const long long at = i * kWide;
    int sample = static_cast<int>(at);
    const int c = by.in_channels.Split(sample), ix = by.width.Split(sample);
    const int iy = by.height.Split(sample);
    const int out_height = by.out_height.divisor(), out_width = by.out_width.divisor();
    const int oy_first = First(iy, shape.kernel_height), oy_last = Last(iy, out_height);
    const int ox_first = First(ix, shape.kernel_width), ox_last = Last(ix, out_width);
    const int kernel_row = by.run.divisor(), patch = shape.patch();
    // 2. Their sum.
    Pack<kWide> sum{};
    for (int oy = oy_first; oy <= oy_last; ++oy) {
      const int row = (sample * out_height + oy) * out_width;
      const int in_row = (iy - oy * shape.stride) * kernel_row + c;
      for (int ox = ox_first; ox <= ox_last; ++ox) {
        const int in_patch = in_row + (ix - ox * shape.stride) * shape.in_channels;
        const Pack<kWide> part = Load<kWide>(patches + 1ll * (row + ox) * patch + in_patch);
        for (int j = 0; j < kWide; ++j) sum.v[j] += part.v[j];
      }
    }
    for (int j = 0; j < kWide; ++j) sum.v[j] = Masked(relu_output, at + j, sum.v[j]);
    Store(dx + at, sum);
  }

 private:
  // The first and the last output along one side whose kernel covers the input `in`.
  HOST_DEVICE int First(int in, int kernel) const {
    return in < kernel ? 0 : by.stride.Quotient(in - kernel) + 1;
  }
  HOST_DEVICE int Last(int in, int outputs) const {
    const int last = by.stride.Quotient(in);
    return last < outputs ? last : outputs - 1;
  }
};

}  // namespace starling::net::cuda
