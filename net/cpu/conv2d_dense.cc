#include "net/cpu/conv2d_dense.h"

#include <algorithm>

#include "net/cpu/gemm.h"
#include "net/cpu/linear.h"

namespace starling::net::cpu {
namespace {

constexpr int kPatchFloats = 64 * 1024;  // 256 KiB of patches fit in a second-level cache

int SamplesAtOnce(const ConvShape& s) {
  return std::max(1, kPatchFloats / (s.out_cells() * s.patch()));
}

// Calls visit(x_offset, patch_offset, length) for each run of KW * CIN floats that are adjacent
// both in the input of one sample and in its patch matrix.
template <class Visit>
void ForEachRun(const ConvShape& s, Visit visit) {
  const int run = s.kernel_width * s.in_channels;
  int patch_offset = 0;
  for (int oy = 0; oy < s.out_height(); ++oy) {
    for (int ox = 0; ox < s.out_width(); ++ox) {
      for (int ky = 0; ky < s.kernel_height; ++ky, patch_offset += run) {
        visit(((oy * s.stride + ky) * s.width + ox * s.stride) * s.in_channels, patch_offset, run);
      }
    }
  }
}

// patches (n, OH, OW, KH * KW * CIN) of x (n, H, W, CIN).
void Unfold(const ConvShape& s, int n, const float* x, float* patches) {
  for (int i = 0; i < n; ++i, x += s.in_size(), patches += s.out_cells() * s.patch()) {
    ForEachRun(s, [&](int from, int to, int run) { std::copy_n(x + from, run, patches + to); });
  }
}

// The adjoint: adds each patch to the inputs that it covers.
void FoldAdd(const ConvShape& s, int n, const float* patches, float* dx) {
  for (int i = 0; i < n; ++i, dx += s.in_size(), patches += s.out_cells() * s.patch()) {
    ForEachRun(s, [&](int to, int from, int run) {
      for (int j = 0; j < run; ++j) dx[to + j] += patches[from + j];
    });
  }
}

}  // namespace

void DenseConv::Forward(const ConvShape& s, int n, const float* x, const float* w, const float* b,
                        Activation activation, float* y) {
  const int most = SamplesAtOnce(s);
  patches_.Reserve(static_cast<std::size_t>(most * s.out_cells() * s.patch()));
  for (int i = 0; i < n; i += most) {
    const int samples = std::min(most, n - i), rows = samples * s.out_cells();
    float* const out = y + i * s.out_size();
    Unfold(s, samples, x + i * s.in_size(), patches_.data());
    Gemm(Order::kPlain, Order::kPlain, rows, s.out_channels, s.patch(), patches_.data(), s.patch(),
         w, s.out_channels, 0.0f, out, s.out_channels);
    AddBiasActivate(rows, s.out_channels, b, activation, out);
  }
}

void DenseConv::BackwardWeights(const ConvShape& s, int n, const float* x, const float* dy,
                                float* dw, float* db) {
  const int most = SamplesAtOnce(s);
  patches_.Reserve(static_cast<std::size_t>(most * s.out_cells() * s.patch()));
  std::fill_n(dw, s.num_weights(), 0.0f);
  for (int i = 0; i < n; i += most) {
    const int samples = std::min(most, n - i), rows = samples * s.out_cells();
    Unfold(s, samples, x + i * s.in_size(), patches_.data());
    Gemm(Order::kTransposed, Order::kPlain, s.patch(), s.out_channels, rows, patches_.data(),
         s.patch(), dy + i * s.out_size(), s.out_channels, 1.0f, dw, s.out_channels);
  }
  SumRows(n * s.out_cells(), s.out_channels, dy, db);
}

void DenseConv::BackwardInput(const ConvShape& s, int n, const float* w, const float* dy,
                              const float* relu_output, float* dx) {
  const int most = SamplesAtOnce(s);
  patches_.Reserve(static_cast<std::size_t>(most * s.out_cells() * s.patch()));
  std::fill_n(dx, n * s.in_size(), 0.0f);
  for (int i = 0; i < n; i += most) {
    const int samples = std::min(most, n - i), rows = samples * s.out_cells();
    Gemm(Order::kPlain, Order::kTransposed, rows, s.patch(), s.out_channels, dy + i * s.out_size(),
         s.out_channels, w, s.out_channels, 0.0f, patches_.data(), s.patch());
    FoldAdd(s, samples, patches_.data(), dx + i * s.in_size());
  }
  if (relu_output != nullptr) MaskByRelu(n * s.in_size(), relu_output, dx);
}

}  // namespace starling::net::cpu
