// bf16: the upper half of a float, 8 significant bits.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#ifdef __AVX512BF16__
#include <immintrin.h>
#endif

namespace starling {

using Bfloat16 = std::uint16_t;  // its bits

// Rounds to nearest, ties to even, exactly as AVX512_BF16 does: a NaN stays a NaN, a value out of
// range becomes infinite, and a denormal becomes zero (as in the products), each with its sign.
constexpr Bfloat16 ToBfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits & 0x80000000, exponent = bits & 0x7f800000;
  const std::uint32_t quiet = bits | 0x00400000, rounded = bits + 0x7fff + ((bits >> 16) & 1);
  const bool nan = exponent == 0x7f800000 && (bits & 0x007fffff) != 0;
  return static_cast<Bfloat16>((nan ? quiet : exponent == 0 ? sign : rounded) >> 16);
}

// out (n) = x (n), each rounded as above.
inline void ToBfloat16(int n, const float* x, Bfloat16* out) {
  int i = 0;
#ifdef __AVX512BF16__
  for (; i + 32 <= n; i += 32) {
    const __m512bh both = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(x + i + 16), _mm512_loadu_ps(x + i));
    _mm512_storeu_si512(out + i, std::bit_cast<__m512i>(both));
  }
#endif
  for (; i < n; ++i) out[i] = ToBfloat16(x[i]);
}

// Exact.
constexpr float FromBfloat16(Bfloat16 value) {
  return std::bit_cast<float>(std::uint32_t{value} << 16);
}

// Replaces every value by the nearest that bf16 has.
inline void RoundToBfloat16(std::span<float> values) {
  std::size_t i = 0;
#ifdef __AVX512BF16__
  constexpr __mmask16 kAll = 0xffff;  // g++ 12 warns without a mask
  for (; i + 16 <= values.size(); i += 16) {
    const __m256bh rounded = _mm512_cvtneps_pbh(_mm512_loadu_ps(values.data() + i));
    const __m512i wide = _mm512_maskz_cvtepu16_epi32(kAll, std::bit_cast<__m256i>(rounded));
    _mm512_storeu_si512(values.data() + i, _mm512_maskz_slli_epi32(kAll, wide, 16));
  }
#endif
  for (; i < values.size(); ++i) values[i] = FromBfloat16(ToBfloat16(values[i]));
}

}  // namespace starling
