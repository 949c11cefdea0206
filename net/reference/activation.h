// The definition of activations; shapes in net/op_args.h.
#pragma once

#include <cmath>

#include "net/op_args.h"

namespace starling::net::reference {

template <class T>
T Activate(Activation activation, T value) {
  if (activation == Activation::kTanh) return std::tanh(value);
  return activation == Activation::kRelu && value < T(0) ? T(0) : value;
}

// The derivative, as a function of the activated value y.
template <class T>
T Slope(Activation activation, T y) {
  if (activation == Activation::kTanh) return 1 - y * y;
  return activation == Activation::kRelu && !(y > T(0)) ? T(0) : T(1);
}

// The gradient, or zero where relu_output is not positive. relu_output is nullptr: no mask.
template <class T>
T Masked(const T* relu_output, int at, T gradient) {
  return relu_output != nullptr && !(relu_output[at] > T(0)) ? T(0) : gradient;
}

template <class T>
void ActivateBackward(const ActivateBackwardArgs<T>& args) {
  const auto [activation, count, y, dy, relu_output, dx] = args;
  for (int j = 0; j < count; ++j) {
    dx[j] = Masked(relu_output, j, dy[j] * Slope(activation, y[j]));
  }
}

}  // namespace starling::net::reference
