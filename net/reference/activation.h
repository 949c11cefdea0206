// Activations as layers of their own, the definition; shapes in net/backend.h.
#pragma once

#include <cmath>

#include "net/backend.h"

namespace starling::net::reference {

template <class T>
T Activate(Activation activation, T value) {
  if (activation == Activation::kTanh) return std::tanh(value);
  return activation == Activation::kRelu && value < T(0) ? T(0) : value;
}

// From the activated value.
template <class T>
T Slope(Activation activation, T y) {
  if (activation == Activation::kTanh) return 1 - y * y;
  return activation == Activation::kRelu && !(y > T(0)) ? T(0) : T(1);
}

// What the mask leaves of a gradient.
template <class T>
T Masked(const T* relu_output, int at, T gradient) {
  return relu_output != nullptr && !(relu_output[at] > T(0)) ? T(0) : gradient;
}

template <class T>
void ActivateBackward(Activation activation, int count, const T* y, const T* dy,
                      const T* relu_output, T* dx) {
  for (int j = 0; j < count; ++j) {
    dx[j] = Masked(relu_output, j, dy[j] * Slope(activation, y[j]));
  }
}

}  // namespace starling::net::reference
