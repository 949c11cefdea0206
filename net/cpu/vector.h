// Vectors of as many floats as a register of the processor holds, at any alignment. g++ does not
// vectorise plain loops of a short constant length, which makes loops over channels and features
// several times slower. So these use vector types. A vector wider than a register would be worse
// still: g++ divides it in memory. At the end: exp, sigmoid and tanh of a whole vector.
#pragma once

#include "net/backend.h"

namespace starling::net::cpu {

#if defined(__AVX512F__)
inline constexpr int kLanes = 16;
#elif defined(__AVX__)
inline constexpr int kLanes = 8;
#else
inline constexpr int kLanes = 4;
#endif
using Lanes [[gnu::vector_size(4 * kLanes), gnu::aligned(4), gnu::may_alias]] = float;
using LanesOfInts [[gnu::vector_size(4 * kLanes)]] = int;

inline Lanes& At(float* p) { return *reinterpret_cast<Lanes*>(p); }
inline const Lanes& At(const float* p) { return *reinterpret_cast<const Lanes*>(p); }

// The lower bound of outputs: max(sum, Least(kRelu)) is the relu, and -infinity changes nothing.
inline Lanes Least(Activation activation) {
  return (activation == Activation::kRelu ? 0.0f : -__builtin_inff()) - Lanes{};
}

// The sum of all lanes, by halves.
inline float Sum(const Lanes& v) {
  using Four [[gnu::vector_size(16)]] = float;
#if defined(__AVX512F__)
  using Eight [[gnu::vector_size(32)]] = float;
  const Eight eight = __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) +
                      __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
#else
  const Lanes& eight = v;
#endif
#if defined(__AVX__)
  const Four four = __builtin_shufflevector(eight, eight, 0, 1, 2, 3) +
                    __builtin_shufflevector(eight, eight, 4, 5, 6, 7);
#else
  const Four four = eight;
#endif
  return (four[0] + four[2]) + (four[1] + four[3]);
}

// e^x with a relative error of at most 2e-7, where x is clamped to [-87, 88]. A NaN stays a NaN.
// e^x = 2^n e^r, where n is the integer nearest to x / ln 2, so |r| <= ln 2 / 2; e^r by its series.
inline Lanes Exp(Lanes x) {
  const Lanes low = Lanes{} - 87.0f, high = Lanes{} + 88.0f;
  x = x < low ? low : x;
  x = x > high ? high : x;
  // 1. Split x. Adding 1.5 * 2^23 leaves no bits for a fraction; ln 2 is subtracted in two parts.
  constexpr float kRound = 12582912.0f;
  const Lanes n = (x * 1.44269504f + kRound) - kRound;
  const Lanes r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
  // 2. The series of e^r, then the exponent.
  Lanes sum = r * (1.0f / 5040) + 1.0f / 720;
  sum = sum * r + 1.0f / 120;
  sum = sum * r + 1.0f / 24;
  sum = sum * r + 1.0f / 6;
  sum = sum * r + 0.5f;
  sum = sum * r + 1.0f;
  sum = sum * r + 1.0f;
  const LanesOfInts exponent = (__builtin_convertvector(n, LanesOfInts) + 127) << 23;
  return sum * __builtin_bit_cast(Lanes, exponent);
}

inline Lanes Sigmoid(Lanes x) { return 1.0f / (1.0f + Exp(-x)); }
inline Lanes Tanh(Lanes x) { return 2.0f / (1.0f + Exp(-2.0f * x)) - 1.0f; }

}  // namespace starling::net::cpu
