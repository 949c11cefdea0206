// Vectors of sixteen floats at any alignment. g++ does not vectorise plain loops of a short
// constant length, which makes loops over channels and features several times slower. So these use
// vector types, which every g++ and clang maps to the instructions of the processor.
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

}  // namespace starling::net::cpu
