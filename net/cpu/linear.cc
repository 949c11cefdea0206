#include "net/cpu/linear.h"

#include <algorithm>

#include "net/cpu/gemm.h"
#include "net/cpu/vector.h"

namespace starling::net::cpu {

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
  for (; j + 16 <= width; j += 16) {
    Sixteen even = {}, odd = {};  // two chains of additions that do not wait for each other
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

}  // namespace starling::net::cpu
