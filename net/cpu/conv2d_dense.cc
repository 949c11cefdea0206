#include "net/cpu/conv2d.h"

#include <algorithm>

#include "net/cpu/gemm.h"
#include "net/cpu/layers.h"

namespace starling::net::cpu {
namespace {

constexpr int kPatchFloats = 64 * 1024;  // 256 KiB of patches fit in a second-level cache

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

template <class Part>
void DenseConv::ForEachPart(const ConvShape& s, int n, Part part) {
  const int floats = s.out_cells() * s.patch(), most = std::max(1, kPatchFloats / floats);
  patches_.Reserve(most * floats);
  for (int first = 0; first < n; first += most) part(first, std::min(most, n - first));
}

void DenseConv::Forward(const ConvForwardArgs<float>& args) {
  const ConvShape& s = args.shape;
  ForEachPart(s, args.n, [&](int first, int samples) {
    const int cells = samples * s.out_cells();
    float* const y = args.y + first * s.out_size();
    Unfold(s, samples, args.x + first * s.in_size(), patches_.data());
    Gemm({.rows = cells,
          .depth = s.patch(),
          .columns = s.out_channels,
          .a = patches_.data(),
          .b = args.w,
          .c = y});
    AddBiasActivate(cells, s.out_channels, args.b, args.activation, y);
  });
}

void DenseConv::BackwardWeights(const ConvBackwardWeightsArgs<float>& args) {
  const ConvShape& s = args.shape;
  std::fill_n(args.dw, s.num_weights(), 0.0f);
  ForEachPart(s, args.n, [&](int first, int samples) {
    Unfold(s, samples, args.x + first * s.in_size(), patches_.data());
    Gemm({.rows = s.patch(),
          .depth = samples * s.out_cells(),
          .columns = s.out_channels,
          .a = patches_.data(),
          .a_transposed = true,
          .b = args.dy + first * s.out_size(),
          .put = Put::kAdd,
          .c = args.dw});
  });
  SumRows(args.n * s.out_cells(), s.out_channels, args.dy, args.db);
}

void DenseConv::BackwardInput(const ConvBackwardInputArgs<float>& args) {
  const ConvShape& s = args.shape;
  std::fill_n(args.dx, args.n * s.in_size(), 0.0f);
  ForEachPart(s, args.n, [&](int first, int samples) {
    Gemm({.rows = samples * s.out_cells(),
          .depth = s.out_channels,
          .columns = s.patch(),
          .a = args.dy + first * s.out_size(),
          .b = args.w,
          .b_transposed = true,
          .c = patches_.data()});
    FoldAdd(s, samples, patches_.data(), args.dx + first * s.in_size());
  });
  if (args.relu_output != nullptr) MaskByRelu(args.n * s.in_size(), args.relu_output, args.dx);
}

}  // namespace starling::net::cpu
