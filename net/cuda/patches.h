// Convolution as a product: the patches of the input as a matrix, and their gradients back to the input.
#pragma once

#include "net/cuda/elementwise.h"

namespace starling::net::cuda {

// What is divided by for the place of a number in an array of patches, or of inputs.
struct ConvDivisors {
  Divisor run, kernel_height, out_width, out_height;  // of patches
  Divisor in_channels, width, height, stride;         // of inputs

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

// patches (n, OH, OW, KH, KW, CIN) of x (n, H, W, CIN). A row of a kernel, KW * CIN floats, is adjacent
// in both.
template <int kWide>
struct Patches {
  ConvShape shape;
  ConvDivisors by;
  const float* x;
  float* patches;

  HOST_DEVICE void operator()(long long i) const {
    std::uint32_t rest = static_cast<std::uint32_t>(i * kWide);
    const std::uint32_t j = by.run.Split(rest), ky = by.kernel_height.Split(rest);
    const std::uint32_t ox = by.out_width.Split(rest), oy = by.out_height.Split(rest);
    const int iy = static_cast<int>(oy) * shape.stride + static_cast<int>(ky);
    const int row = static_cast<int>(rest) * shape.height + iy;  // of all samples
    const int cell = row * shape.width + static_cast<int>(ox) * shape.stride;
    Store(patches + i * kWide, Load<kWide>(x + cell * shape.in_channels + j));
  }
};

// The adjoint: dx (n, H, W, CIN), each the sum over the patches that it is in; and the mask.
template <int kWide>
struct GatherPatches {
  ConvShape shape;
  ConvDivisors by;
  const float *patches, *relu_output;
  float* dx;

  HOST_DEVICE void operator()(long long i) const {
    const long long at = i * kWide;
    std::uint32_t rest = static_cast<std::uint32_t>(at);
    const int c = static_cast<int>(by.in_channels.Split(rest));
    const int ix = static_cast<int>(by.width.Split(rest));
    const int iy = static_cast<int>(by.height.Split(rest));
    const int oy_first = First(iy, shape.kernel_height),
              oy_last = Last(iy, by.out_height.divisor());
    const int ox_first = First(ix, shape.kernel_width), ox_last = Last(ix, by.out_width.divisor());
    const int kernel_row = by.run.divisor(), patch = shape.patch();
    Pack<kWide> sum{};
    for (int oy = oy_first; oy <= oy_last; ++oy) {
      const int row =
          (static_cast<int>(rest) * by.out_height.divisor() + oy) * by.out_width.divisor();
      const int in_row = (iy - oy * shape.stride) * kernel_row + c;
      for (int ox = ox_first; ox <= ox_last; ++ox) {
        const int in_patch = in_row + (ix - ox * shape.stride) * shape.in_channels;
        const Pack<kWide> part =
            Load<kWide>(patches + static_cast<long long>(row + ox) * patch + in_patch);
        for (int j = 0; j < kWide; ++j) sum.v[j] += part.v[j];
      }
    }
    for (int j = 0; j < kWide; ++j) sum.v[j] = Masked(relu_output, at + j, sum.v[j]);
    Store(dx + at, sum);
  }

 private:
  // Of the outputs along a side whose kernel covers `in`.
  HOST_DEVICE int First(int in, int kernel) const {
    return in < kernel ? 0 : Quotient(in - kernel) + 1;
  }
  HOST_DEVICE int Last(int in, int outputs) const {
    const int last = Quotient(in);
    return last < outputs ? last : outputs - 1;
  }
  HOST_DEVICE int Quotient(int in) const {
    return static_cast<int>(by.stride.Quotient(static_cast<std::uint32_t>(in)));
  }
};

}  // namespace starling::net::cuda
