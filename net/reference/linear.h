// Fully connected layer, the definition; shapes in net/backend.h.
#pragma once

#include "net/backend.h"

namespace starling::net::reference {

template <class T>
T Activate(Activation activation, T value) {
  return activation == Activation::kRelu && value < T(0) ? T(0) : value;
}

template <class T>
void LinearForward(const LinearShape& s, int n, const T* x, const T* w, const T* b,
                   Activation activation, T* y) {
  for (int i = 0; i < n; ++i) {
    for (int o = 0; o < s.out; ++o) {
      T sum = b[o];
      for (int k = 0; k < s.in; ++k) sum += x[i * s.in + k] * w[k * s.out + o];
      y[i * s.out + o] = Activate(activation, sum);
    }
  }
}

template <class T>
void LinearBackwardWeights(const LinearShape& s, int n, const T* x, const T* dy, T* dw, T* db) {
  for (int o = 0; o < s.out; ++o) {
    for (int k = 0; k < s.in; ++k) {
      T sum = 0;
      for (int i = 0; i < n; ++i) sum += x[i * s.in + k] * dy[i * s.out + o];
      dw[k * s.out + o] = sum;
    }
    T sum = 0;
    for (int i = 0; i < n; ++i) sum += dy[i * s.out + o];
    db[o] = sum;
  }
}

template <class T>
void LinearBackwardInput(const LinearShape& s, int n, const T* w, const T* dy, Put put,
                         const T* relu_output, T* dx) {
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < s.in; ++k) {
      T sum = put == Put::kAdd ? dx[i * s.in + k] : T(0);
      for (int o = 0; o < s.out; ++o) sum += dy[i * s.out + o] * w[k * s.out + o];
      const bool dead = relu_output != nullptr && !(relu_output[i * s.in + k] > T(0));
      dx[i * s.in + k] = dead ? T(0) : sum;
    }
  }
}

}  // namespace starling::net::reference
