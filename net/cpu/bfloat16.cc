#include "net/cpu/bfloat16.h"

#include <dnnl.hpp>

#ifdef __AVX512BF16__
#include <immintrin.h>
#endif

namespace starling::net::cpu {

bool HasBf16Products() {
  constexpr auto kNeeded = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_bf16);
  // A bit set; the one of AMX contains this one.
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & kNeeded) == kNeeded;
}

void ToBfloat16(int n, const float* x, Bfloat16* out) {
  int i = 0;
#ifdef __AVX512BF16__
  for (; i + 32 <= n; i += 32) {
    const __m512bh both = _mm512_cvtne2ps_pbh(_mm512_loadu_ps(x + i + 16), _mm512_loadu_ps(x + i));
    _mm512_storeu_si512(out + i, std::bit_cast<__m512i>(both));
  }
#endif
  for (; i < n; ++i) out[i] = ToBfloat16(x[i]);
}

}  // namespace starling::net::cpu
