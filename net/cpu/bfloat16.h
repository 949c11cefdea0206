// bf16: the upper half of a float, 8 significant bits.
#pragma once

#include <bit>
#include <cstdint>

namespace starling::net::cpu {

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
constexpr float ToFloat(Bfloat16 value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16);
}

// out (n) = x (n), each rounded as above.
void ToBfloat16(int n, const float* x, Bfloat16* out);

// Whether this processor multiplies bf16 (avx512_bf16 or amx_bf16) and ONEDNN_MAX_CPU_ISA does not
// forbid it.
bool HasBf16Products();

}  // namespace starling::net::cpu
