// Tools for bodies of GPU threads (vector loads, fast division, sums), and the bodies for one
// number, or a few adjacent ones, at a time.
//
// A body is a struct that holds its arguments. operator()(i) is the work of thread i of n,
// operator()(i, lanes) that of warp i of n (core/cuda/each.h). Bodies also compile for the host,
// where the tests run them. They use neither CHECK nor fmt, which do not compile for a GPU.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/cuda/each.h"
#include "net/masked.h"
#include "net/op_args.h"

namespace starling::net::cuda {

// Queues bodies (work.h). An op of several bodies is a function that takes a Work, below them.
template <class Device>
class Work;

// kWide adjacent floats, loaded and stored by one instruction.
template <int kWide>
struct alignas(4 * kWide) Pack {
  float v[kWide];
};

template <int kWide>
HOST_DEVICE inline Pack<kWide> Load(const float* from) {
  return *reinterpret_cast<const Pack<kWide>*>(from);
}
template <int kWide>
HOST_DEVICE inline void Store(float* to, const Pack<kWide>& pack) {
  *reinterpret_cast<Pack<kWide>*>(to) = pack;
}

// Division of indices by a divisor that is unknown at compile time: a multiplication and a shift.
// Exact for n in [0, 2^31): the multiplier is too large by less than 1 in 2^31 (Granlund and
// Montgomery 1994).
class Divisor {
 public:
  Divisor() = default;
  explicit Divisor(int divisor) : divisor_(divisor) {
    const std::uint64_t wide = divisor;
    for (shift_ = 31; (std::uint64_t{1} << (shift_ - 31)) < wide;) ++shift_;
    multiplier_ = static_cast<std::uint32_t>(((std::uint64_t{1} << shift_) + wide - 1) / wide);
  }
  HOST_DEVICE int Quotient(int n) const {
    const std::uint32_t index = n;
    return static_cast<int>((std::uint64_t{index} * multiplier_) >> shift_);
  }
  // Replaces n by the quotient and returns the remainder.
  HOST_DEVICE int Split(int& n) const {
    const int quotient = Quotient(n), remainder = n - quotient * divisor_;
    n = quotient;
    return remainder;
  }
  HOST_DEVICE int Remainder(int n) const { return Split(n); }
  HOST_DEVICE int divisor() const { return divisor_; }

 private:
  int divisor_ = 1;
  std::uint32_t multiplier_ = 0x80000000u, shift_ = 31;
};

// The sum of at(first), at(first + step) ... below end. Eight terms at a time, so that a thread
// waits for eight loads at once.
template <class T, class At>
HOST_DEVICE inline T StridedSum(long long first, long long end, long long step, At at) {
  T sums[8] = {};
  long long j = first;
  for (; j + 7 * step < end; j += 8 * step) {
    for (int u = 0; u < 8; ++u) sums[u] += at(j + u * step);
  }
  for (; j < end; j += step) sums[0] += at(j);
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

// sums (kOut) += in * row (kOut). REQUIRES: row lies a multiple of kOut floats behind an address
// that is aligned to 16 bytes.
template <int kOut>
HOST_DEVICE inline void AccumulateRow(float in, const float* row, float (&sums)[kOut]) {
  constexpr int kWide = kOut % 4 == 0 ? 4 : kOut % 2 == 0 ? 2 : 1;
  for (int o = 0; o < kOut; o += kWide) {
    const Pack<kWide> pack = Load<kWide>(row + o);
    for (int u = 0; u < kWide; ++u) sums[o + u] += in * pack.v[u];
  }
}

// For the activations that other ops apply, kNone and kRelu (net/op_args.h). A NaN stays a NaN.
HOST_DEVICE inline float Activated(Activation activation, float value) {
  return activation == Activation::kRelu && value < 0 ? 0.0f : value;
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

  HOST_DEVICE void operator()(long long i) const {
    y[i] = activation == Activation::kTanh ? std::tanh(x[i]) : Activated(activation, x[i]);
  }
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
