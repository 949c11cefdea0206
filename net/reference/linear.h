// The definition of fully connected layers; shapes in net/op_args.h.
#pragma once

#include "net/reference/activation.h"

namespace starling::net::reference {

template <class T>
void LinearForward(const LinearForwardArgs<T>& args) {
  const auto [s, n, x, w, b, activation, y] = args;
  for (int i = 0; i < n; ++i) {
    for (int o = 0; o < s.out; ++o) {
      T sum = b[o];
      for (int k = 0; k < s.in; ++k) sum += x[i * s.in + k] * w[k * s.out + o];
      y[i * s.out + o] = Activate(activation, sum);
    }
  }
}

template <class T>
void LinearAccumulate(const LinearShape& s, int n, const T* x, const T* w, T* y) {
  for (int i = 0; i < n; ++i) {
    for (int o = 0; o < s.out; ++o) {
      for (int k = 0; k < s.in; ++k) y[i * s.out + o] += x[i * s.in + k] * w[k * s.out + o];
    }
  }
}

template <class T>
void LinearBackwardWeights(const LinearBackwardWeightsArgs<T>& args) {
  const auto [s, n, x, dy, dw, db] = args;
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
void LinearBackwardInput(const LinearBackwardInputArgs<T>& args) {
  const auto [s, n, w, dy, put, relu_output, dx] = args;
  for (int i = 0; i < n; ++i) {
    for (int k = 0; k < s.in; ++k) {
      T sum = put == Put::kAdd ? dx[i * s.in + k] : T(0);
      for (int o = 0; o < s.out; ++o) sum += dy[i * s.out + o] * w[k * s.out + o];
      dx[i * s.in + k] = Masked(relu_output, i * s.in + k, sum);
    }
  }
}

}  // namespace starling::net::reference
