// Bodies for one number, or a few adjacent ones, at a time.
#pragma once

#include <cmath>

#include "net/cuda/pack.h"
#include "net/op_args.h"

namespace starling::net::cuda {

// A NaN stays a NaN.
HOST_DEVICE inline float Activated(Activation activation, float value) {
  if (activation == Activation::kTanh) return std::tanh(value);
  return activation == Activation::kRelu && value < 0 ? 0.0f : value;
}

// The gradient, or zero where relu_output is not positive. relu_output is nullptr: no mask.
HOST_DEVICE inline float Masked(const float* relu_output, std::int64_t at, float gradient) {
  return relu_output != nullptr && !(relu_output[at] > 0) ? 0.0f : gradient;
}

// y (n, columns) = activation(y + bias), after a product.
template <int kWide>
struct BiasActivation {
  Divisor columns;
  const float* bias;
  Activation activation;
  float* y;

  HOST_DEVICE void operator()(long long i) const {
    const long long at = i * kWide;
    const int column = columns.Remainder(static_cast<int>(at));
    Pack<kWide> pack = Load<kWide>(y + at);
    const Pack<kWide> b = Load<kWide>(bias + column);
    for (int j = 0; j < kWide; ++j) pack.v[j] = Activated(activation, pack.v[j] + b.v[j]);
    Store(y + at, pack);
  }
};

// dx = 0 where relu_output is not positive.
template <int kWide>
struct ReluMask {
  const float* relu_output;
  float* dx;

  HOST_DEVICE void operator()(long long i) const {
    const long long at = i * kWide;
    const Pack<kWide> x = Load<kWide>(relu_output + at);
    Pack<kWide> pack = Load<kWide>(dx + at);
    for (int j = 0; j < kWide; ++j) {
      if (!(x.v[j] > 0)) pack.v[j] = 0;
    }
    Store(dx + at, pack);
  }
};

struct Activate {
  Activation activation;
  const float* x;
  float* y;

  HOST_DEVICE void operator()(long long i) const { y[i] = Activated(activation, x[i]); }
};

struct ActivateBackward {
  ActivateBackwardArgs<float> a;

  HOST_DEVICE void operator()(long long i) const {
    float gradient = a.dy[i];
    const float y = a.y[i];
    if (a.activation == Activation::kTanh) gradient *= 1 - y * y;
    if (a.activation == Activation::kRelu && !(y > 0)) gradient = 0;
    a.dx[i] = Masked(a.relu_output, i, gradient);
  }
};

struct KeepState {
  Divisor width;
  const std::uint8_t* resets;
  const float* from;
  float* to;

  HOST_DEVICE void operator()(long long i) const {
    to[i] = resets[width.Quotient(static_cast<int>(i))] != 0 ? 0.0f : from[i];
  }
};

}  // namespace starling::net::cuda
