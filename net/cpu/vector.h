// Sixteen floats at a time, as wide as the processor allows, at any alignment. g++ leaves plain loops
// of a short known length scalar, which is several times slower in the loops over channels and
// features; so these are written with vectors, which every g++ and clang turns into what it has.
#pragma once

namespace starling::net::cpu {

using Sixteen [[gnu::vector_size(64), gnu::aligned(4), gnu::may_alias]] = float;

inline Sixteen& At(float* p) { return *reinterpret_cast<Sixteen*>(p); }
inline const Sixteen& At(const float* p) { return *reinterpret_cast<const Sixteen*>(p); }

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
