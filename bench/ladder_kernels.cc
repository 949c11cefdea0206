#include "bench/ladder.h"

#include <algorithm>
#include <cstddef>
#include <memory>

#include "core/check.h"
#include "net/cpu/conv2d.h"
#include "net/cpu/layers.h"
#include "net/cpu/nonzeros.h"
#include "net/cpu/vector.h"

namespace starling::bench {
namespace {

using net::Activation, net::ConvShape, net::LinearShape;
using net::cpu::At, net::cpu::kLanes, net::cpu::Lanes;

// A kernel that accepts all data.
template <class Run>
Kernel Always(const char* name, Run run) {
  return {name, [run] {
            run();
            return true;
          }};
}

// Backward, kernel 2. It computes an eighth of the products and is hardly faster than all of them:
// each reads w and reads and writes dw in the second-level cache and ends in a sum.
void BackwardSampleBySample(const net::LinearBackwardArgs<float>& args) {
  auto [shape, n, x, w, dy, dw, db, dx] = args;
  std::vector<int> set(static_cast<std::size_t>(shape.in + 16));
  std::fill_n(dw, shape.in * shape.out, 0.0f);
  std::fill_n(dx, n * shape.in, 0.0f);
  for (int i = 0; i < n; ++i, x += shape.in, dy += shape.out, dx += shape.in) {
    const int count = net::cpu::FindIndices(net::cpu::Which::kPositive, shape.in, x, set.data());
    for (int at = 0; at < count; ++at) {
      const int k = set[static_cast<std::size_t>(at)];
      const float* const weights = w + k * shape.out;
      float* const gradient = dw + k * shape.out;
      Lanes dot = {};
      for (int j = 0; j < shape.out; j += kLanes) {
        At(gradient + j) += x[k] * At(dy + j);
        dot += At(weights + j) * At(dy + j);
      }
      dx[k] = net::cpu::Sum(dot);
    }
  }
  net::cpu::SumRows(n, shape.out, dy - n * shape.out, db);
}

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
    for (int cell = 0; cell < cells; ++cell) std::copy_n(b, kChannels, y + cell * kChannels);
    const int count = net::cpu::FindIndices(net::cpu::Which::kNonzero, s.in_size(), x, set.data());
    for (int at = 0; at < count; ++at) {
      const int k = set[static_cast<std::size_t>(at)];
      const int iy = k / line, ix = k % line / channels, c = k % channels;
      for (int ky = 0; ky < kSide; ++ky) {
        for (int kx = 0; kx < kSide; ++kx) {
          const int oy = iy - ky, ox = ix - kx;
          if (oy < 0 || oy >= height || ox < 0 || ox >= width) continue;
          float* const to = y + (oy * width + ox) * kChannels;
          const float* const from = w + ((ky * kSide + kx) * channels + c) * kChannels;
          for (int v = 0; v < kChannels; v += kLanes) At(to + v) += x[k] * At(from + v);
        }
      }
    }
    for (int j = 0; j < cells * kChannels; j += kLanes) {
      Lanes& out = At(y + j);
      out = out < Lanes{} ? Lanes{} : out;
    }
  }
}

}  // namespace

std::vector<Kernel> LinearForwardKernels(LinearShape shape, int n, const float* x, const float* w,
                                         const float* b, float* y) {
  const auto sparse = std::make_shared<net::cpu::SparseLinear>();  // a std::function copies
  const net::LinearForwardArgs<float> args{
      .shape = shape, .n = n, .x = x, .w = w, .b = b, .activation = Activation::kRelu, .y = y};
  return {
      // Kernel 1: it reaches the peak rate, but multiplies the zeros, too.
      Always("dense product", [=] { net::cpu::LinearForward(args); }),
      // Kernel 2: a row of sums fits into registers, so it reads only the rows of w for nonzeros.
      {"sample by sample, sums in registers", [=] { return sparse->Forward(args); }},
  };
}

std::vector<Kernel> LinearBackwardKernels(LinearShape shape, int n, const float* x, const float* w,
                                          const float* dy, float* dw, float* db, float* dx) {
  const auto sparse = std::make_shared<net::cpu::SparseLinear>();
  const net::LinearBackwardArgs<float> args{
      .shape = shape, .n = n, .x = x, .w = w, .dy = dy, .dw = dw, .db = db, .dx = dx};
  return {
      // Kernel 1: half of its work is for elements of dx that the mask discards.
      Always("two dense products",
             [=] {
               net::cpu::LinearBackwardWeights(args.weights());
               net::cpu::LinearBackwardInput(args.input());
             }),
      Always("sample by sample", [=] { BackwardSampleBySample(args); }),
      // Kernel 3: with the loops in this order, only dy is reread, which is small.
      {"input by input, rows in registers", [=] { return sparse->Backward(args); }},
  };
}

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
      Always("patches and a dense product", [=] { dense->Forward(args); }),
      // Kernel 2: without patches it reaches the peak rate, but it multiplies the zeros, too.
      {"direct, sums in registers", [=] { return net::cpu::DirectConvForward(args); }},
      Always("set cells, bounds checked", [=] { EachCellWithinBounds(shape, n, x, w, b, y); }),
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
