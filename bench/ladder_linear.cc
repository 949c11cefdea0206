#include "bench/ladder_linear.h"

#include <algorithm>
#include <cstddef>
#include <memory>

#include "net/cpu/linear.h"
#include "net/cpu/linear_sparse.h"
#include "net/cpu/nonzeros.h"
#include "net/cpu/vector.h"

namespace starling::bench {
namespace {

using net::Activation;
using net::LinearShape;
using net::cpu::At;
using net::cpu::Sixteen;

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
      Sixteen dot = {};
      for (int j = 0; j < shape.out; j += 16) {
        At(gradient + j) += x[k] * At(dy + j);
        dot += At(weights + j) * At(dy + j);
      }
      dx[k] = net::cpu::Sum(dot);
    }
  }
  net::cpu::SumRows(n, shape.out, dy - n * shape.out, db);
}

}  // namespace

std::vector<Kernel> LinearForwardKernels(LinearShape shape, int n, const float* x, const float* w,
                                         const float* b, float* y) {
  const auto sparse = std::make_shared<net::cpu::SparseLinear>();  // a std::function copies
  const net::LinearForwardArgs<float> args{
      .shape = shape, .n = n, .x = x, .w = w, .b = b, .activation = Activation::kRelu, .y = y};
  return {
      // Kernel 1: it reaches the peak rate, but multiplies the zeros, too.
      {"dense product",
       [=] {
         net::cpu::LinearForward(args);
         return true;
       }},
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
      {"two dense products",
       [=] {
         net::cpu::LinearBackwardWeights(args.weights());
         net::cpu::LinearBackwardInput(args.input());
         return true;
       }},
      {"sample by sample",
       [=] {
         BackwardSampleBySample(args);
         return true;
       }},
      // Kernel 3: with the loops in this order, only dy is reread, which is small.
      {"input by input, rows in registers", [=] { return sparse->Backward(args); }},
  };
}

}  // namespace starling::bench
