#include "net/cpu/layers.h"

#include <algorithm>
#include <bit>

#include "net/cpu/gemm.h"
#include "net/cpu/vector.h"

namespace starling::net::cpu {
namespace {

// If a larger share of x is nonzero, dense products are faster.
constexpr double kForwardMost = 0.25, kBackwardMost = 0.375;

int Most(double part, const LinearShape& shape, int n) {
  return static_cast<int>(part * n * shape.in);
}

// Calls pass.operator()<vectors>(first column) for parts of `columns`, of so many vectors each,
// whose sums fit in registers.
template <class Pass>
void ForEachPart(int columns, Pass pass) {
  int j = 0;
  for (; j + 8 * kLanes <= columns; j += 8 * kLanes) pass.template operator()<8>(j);
  for (; j + 4 * kLanes <= columns; j += 4 * kLanes) pass.template operator()<4>(j);
  for (; j < columns; j += kLanes) pass.template operator()<1>(j);
}

}  // namespace

void AddBiasActivate(int rows, int width, const float* b, Activation activation, float* y) {
  for (int i = 0; i < rows; ++i, y += width) {
    if (activation == Activation::kRelu) {
      for (int j = 0; j < width; ++j) y[j] = y[j] + b[j] < 0.0f ? 0.0f : y[j] + b[j];
    } else {
      for (int j = 0; j < width; ++j) y[j] += b[j];
    }
  }
}

void SumRows(int rows, int width, const float* dy, float* sums) {
  int j = 0;
  for (; j + kLanes <= width; j += kLanes) {
    Lanes even = {}, odd = {};  // two chains of additions that do not wait for each other
    int i = 0;
    for (; i + 2 <= rows; i += 2) {
      even += At(dy + i * width + j);
      odd += At(dy + (i + 1) * width + j);
    }
    if (i < rows) even += At(dy + i * width + j);
    At(sums + j) = even + odd;
  }
  for (; j < width; ++j) {
    sums[j] = 0;
    for (int i = 0; i < rows; ++i) sums[j] += dy[i * width + j];
  }
}

void MaskByRelu(int count, const float* relu_output, float* dx) {
  for (int j = 0; j < count; ++j) dx[j] = relu_output[j] > 0.0f ? dx[j] : 0.0f;
}

void LinearForward(const LinearForwardArgs<float>& args) {
  const auto [shape, n, x, w, b, activation, y] = args;
  Gemm({.rows = n, .depth = shape.in, .columns = shape.out, .a = x, .b = w, .c = y});
  AddBiasActivate(n, shape.out, b, activation, y);
}

void LinearAccumulate(const LinearShape& shape, int n, const float* x, const float* w, float* y) {
  Gemm({.rows = n,
        .depth = shape.in,
        .columns = shape.out,
        .a = x,
        .b = w,
        .put = Put::kAdd,
        .c = y});
}

void LinearBackwardWeights(const LinearBackwardWeightsArgs<float>& args) {
  const auto [shape, n, x, dy, dw, db] = args;
  Gemm({.rows = shape.in,
        .depth = n,
        .columns = shape.out,
        .a = x,
        .a_transposed = true,
        .b = dy,
        .c = dw});
  SumRows(n, shape.out, dy, db);
}

void LinearBackwardInput(const LinearBackwardInputArgs<float>& args) {
  const auto [shape, n, w, dy, put, relu_output, dx] = args;
  Gemm({.rows = n,
        .depth = shape.out,
        .columns = shape.in,
        .a = dy,
        .b = w,
        .b_transposed = true,
        .put = put,
        .c = dx});
  if (relu_output != nullptr) MaskByRelu(n * shape.in, relu_output, dx);
}

bool SparseLinear::Forward(const LinearForwardArgs<float>& args) {
  const auto [shape, n, x, w, b, activation, y] = args;
  if (shape.out % kLanes != 0) return false;
  if (!set_.Find(Which::kNonzero, n, shape.in, x, Most(kForwardMost, shape, n))) return false;
  const Lanes least = Least(activation);
  // The sums of a part of one sample's outputs begin at the bias and stay in registers.
  ForEachPart(shape.out, [&]<int kVectors>(int j) {
    for (int i = 0; i < n; ++i) {
      Lanes sum[kVectors];
      for (int v = 0; v < kVectors; ++v) sum[v] = At(b + j + kLanes * v);
      for (const int k : set_.row(i)) {
        const float value = x[i * shape.in + k];
        const float* const from = w + k * shape.out + j;
        for (int v = 0; v < kVectors; ++v) sum[v] += value * At(from + kLanes * v);
      }
      float* const to = y + i * shape.out + j;
      for (int v = 0; v < kVectors; ++v) At(to + kLanes * v) = sum[v] < least ? least : sum[v];
    }
  });
  return true;
}

// Sets bit i of columns_[k] if input k of sample first + i is nonzero.
void SparseLinear::FindColumns(int in, int first, int samples) {
  columns_.assign(in, 0);
  for (int i = 0; i < samples; ++i) {
    for (const int k : set_.row(first + i)) columns_[k] |= std::uint64_t{1} << i;
  }
}

// For each input its rows of w and of dw are loaded once, and the dy of each sample is read once
// for both gradients. The samples are processed in blocks that stay in cache.
bool SparseLinear::Backward(const LinearBackwardArgs<float>& args) {
  const int in = args.shape.in, out = args.shape.out,
            most = Most(kBackwardMost, args.shape, args.n);
  if (out % kLanes != 0) return false;
  if (!set_.Find(Which::kPositive, args.n, in, args.x, most)) return false;
  for (int first = 0; first < args.n; first += kBlock) {
    LinearBackwardArgs<float> block = args;
    block.n = std::min(kBlock, args.n - first);
    block.x += first * in;
    block.dy += first * out;
    block.dx += first * in;
    FindColumns(in, first, block.n);
    std::fill_n(block.dx, block.n * in, 0.0f);
    BackwardBlock(block, first == 0);
  }
  SumRows(args.n, out, args.dy, args.db);
  return true;
}

// Adds to dx, replaces dw or adds to it, and leaves db alone.
void SparseLinear::BackwardBlock(const LinearBackwardArgs<float>& block, bool replace) const {
  const auto [shape, n, x, w, dy, dw, db, dx] = block;
  ForEachPart(shape.out, [&]<int kVectors>(int j) {
    for (int k = 0; k < shape.in; ++k) {
      // 1. Load the rows of this input.
      float* const to = dw + k * shape.out + j;
      Lanes weights[kVectors], sum[kVectors] = {};
      for (int v = 0; v < kVectors; ++v) {
        weights[v] = At(w + k * shape.out + j + kLanes * v);
        if (!replace) sum[v] = At(to + kLanes * v);
      }
      // 2. Visit the samples in which it is nonzero.
      for (std::uint64_t left = columns_[k]; left != 0; left &= left - 1) {
        const int i = std::countr_zero(left), at = i * shape.in + k;
        const float* const from = dy + i * shape.out + j;
        const float value = x[at];
        Lanes dot = {};
        for (int v = 0; v < kVectors; ++v) {
          const Lanes d = At(from + kLanes * v);
          sum[v] += value * d;
          dot += weights[v] * d;
        }
        dx[at] += Sum(dot);
      }
      for (int v = 0; v < kVectors; ++v) At(to + kLanes * v) = sum[v];
    }
  });
}

}  // namespace starling::net::cpu
