#include <cmath>

#include "net/cpu/functions.h"
#include "net/cpu/layers.h"
#include "net/cpu/linear.h"

namespace starling::net::cpu {

void Activate(Activation activation, int count, const float* x, float* y) {
  int j = 0;
  if (activation == Activation::kTanh) {
    for (; j + 16 <= count; j += 16) At(y + j) = Tanh(At(x + j));
    for (; j < count; ++j) y[j] = std::tanh(x[j]);
    return;
  }
  const bool relu = activation == Activation::kRelu;
  for (; j < count; ++j) y[j] = relu && x[j] < 0.0f ? 0.0f : x[j];
}

void ActivateBackward(const ActivateBackwardArgs<float>& args) {
  const auto [activation, count, y, dy, relu_output, dx] = args;
  if (activation == Activation::kTanh) {
    for (int j = 0; j < count; ++j) dx[j] = dy[j] * (1 - y[j] * y[j]);
  } else {
    const bool relu = activation == Activation::kRelu;
    for (int j = 0; j < count; ++j) dx[j] = relu && !(y[j] > 0.0f) ? 0.0f : dy[j];
  }
  if (relu_output != nullptr) MaskByRelu(count, relu_output, dx);
}

}  // namespace starling::net::cpu
