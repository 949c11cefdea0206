// Vectors of sixteen floats at any alignment. g++ does not vectorise plain loops of a short
// constant length, which makes loops over channels and features several times slower. So these use
// vector types, which every g++ and clang maps to the instructions of the processor. At the end:
// exp, sigmoid and tanh of sixteen floats at a time.
#pragma once

#include "net/backend.h"

namespace starling::net::cpu {

using Sixteen [[gnu::vector_size(64), gnu::aligned(4), gnu::may_alias]] = float;

inline Sixteen& At(float* p) { return *reinterpret_cast<Sixteen*>(p); }
inline const Sixteen& At(const float* p) { return *reinterpret_cast<const Sixteen*>(p); }

// The lower bound of outputs: max(sum, Least(kRelu)) is the relu, and -infinity changes nothing.
inline Sixteen Least(Activation activation) {
  return (activation == Activation::kRelu ? 0.0f : -__builtin_inff()) - Sixteen{};
}

// The sum of all sixteen, by halves.
inline float Sum(const Sixteen& v) {
  using Eight [[gnu::vector_size(32)]] = float;
  using Four [[gnu::vector_size(16)]] = float;
  const Eight eight = __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +
                      __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
  const Four four = __builtin_shufflevector(eight, eight, 0, 1, 2, 3) +
                    __builtin_shufflevector(eight, eight, 4, 5, 6, 7);
  return (four[0] + four[2]) + (four[1] + four[3]);
}

using SixteenInts [[gnu::vector_size(64)]] = int;

// e^x with a relative error of at most 2e-7, where x is clamped to [-87, 88]. A NaN stays a NaN.
// e^x = 2^n e^r, where n is the integer nearest to x / ln 2, so |r| <= ln 2 / 2; e^r by its series.
inline Sixteen Exp(Sixteen x) {
  const Sixteen low = Sixteen{} - 87.0f, high = Sixteen{} + 88.0f;
  x = x < low ? low : x;
  x = x > high ? high : x;
  // 1. Split x. Adding 1.5 * 2^23 leaves no bits for a fraction; ln 2 is subtracted in two parts.
  constexpr float kRound = 12582912.0f;
  const Sixteen n = (x * 1.44269504f + kRound) - kRound;
  const Sixteen r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  // 2. The series of e^r, then the exponent.
  Sixteen sum = r * (1.0f / 5040) + 1.0f / 720;
  sum = sum * r + 1.0f / 120;
  sum = sum * r + 1.0f / 24;
  sum = sum * r + 1.0f / 6;
  sum = sum * r + 0.5f;
  sum = sum * r + 1.0f;
  sum = sum * r + 1.0f;
  const SixteenInts exponent = (__builtin_convertvector(n, SixteenInts) + 127) << 23;
  return sum * __builtin_bit_cast(Sixteen, exponent);
}

inline Sixteen Sigmoid(Sixteen x) { return 1.0f / (1.0f + Exp(-x)); }
inline Sixteen Tanh(Sixteen x) { return 2.0f / (1.0f + Exp(-2.0f * x)) - 1.0f; }

}  // namespace starling::net::cpu
