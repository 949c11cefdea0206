#include "bench/ladder_conv.h"

#include <cstddef>
#include <memory>

#include "core/check.h"
#include "net/cpu/conv2d_dense.h"
#include "net/cpu/conv2d_direct.h"
#include "net/cpu/conv2d_sparse.h"
#include "net/cpu/nonzeros.h"
#include "net/cpu/vector.h"

namespace starling::bench {
namespace {

using net::Activation;
using net::ConvShape;
using net::cpu::At;
using net::cpu::Sixteen;

constexpr int kSide = 3, kChannels = 16;  // of the kernel; constants, as in net/cpu

// Kernel 3. It computes only products of set cells, but the test of each whether its output lies
// inside costs more than the products, even where it never fails.
void EachCellWithinBounds(const ConvShape& s, int n, const float* x, const float* w, const float* b,
                          float* y) {
  // Copies, because the compiler must assume that writes to y change s.
  const int height = s.out_height(), width = s.out_width(), cells = s.out_cells();
  const int channels = s.in_channels, line = s.width * channels;
  std::vector<int> set(static_cast<std::size_t>(s.in_size() + 16));
  for (int i = 0; i < n; ++i, x += s.in_size(), y += s.out_size()) {
    for (int cell = 0; cell < cells; ++cell) At(y + cell * kChannels) = At(b);
    const int count = net::cpu::FindIndices(net::cpu::Which::kNonzero, s.in_size(), x, set.data());
    for (int at = 0; at < count; ++at) {
      const int k = set[static_cast<std::size_t>(at)];
      const int iy = k / line, ix = k % line / channels, c = k % channels;
      for (int ky = 0; ky < kSide; ++ky) {
        for (int kx = 0; kx < kSide; ++kx) {
          const int oy = iy - ky, ox = ix - kx;
          if (oy < 0 || oy >= height || ox < 0 || ox >= width) continue;
          At(y + (oy * width + ox) * kChannels) +=
              x[k] * At(w + ((ky * kSide + kx) * channels + c) * kChannels);
        }
      }
    }
    for (int cell = 0; cell < cells; ++cell) {
      Sixteen& out = At(y + cell * kChannels);
      out = out < Sixteen{} ? Sixteen{} : out;
    }
  }
}

}  // namespace

std::vector<Kernel> ConvForwardKernels(ConvShape shape, int n, const float* x, const float* w,
                                       const float* b, float* y) {
  CHECK(shape.kernel_height == kSide && shape.kernel_width == kSide && shape.stride == 1 &&
        shape.out_channels == kChannels);
  const auto dense = std::make_shared<net::cpu::DenseConv>();  // a std::function copies
  const auto sparse = std::make_shared<net::cpu::SparseConv>(shape);
  const net::ConvForwardArgs<float> args{
      .shape = shape, .n = n, .x = x, .w = w, .b = b, .activation = Activation::kRelu, .y = y};
  return {
      // Kernel 1: it writes each cell nine times into patches, for products too narrow to reach the
      // peak rate.
      {"patches and a dense product",
       [=] {
         dense->Forward(args);
         return true;
       }},
      // Kernel 2: without patches it reaches the peak rate, but it multiplies the zeros, too.
      {"direct, sums in registers", [=] { return net::cpu::DirectConvForward(args); }},
      {"set cells, bounds checked",
       [=] {
         EachCellWithinBounds(shape, n, x, w, b, y);
         return true;
       }},
      // Kernel 4: a frame of unused cells around the output is cheaper than the test of kernel 3.
      {"set cells, in a frame",
       [=] {
         if (!sparse->Gather(n, x)) return false;
         sparse->Forward(args);
         return true;
       }},
  };
}

}  // namespace starling::bench
