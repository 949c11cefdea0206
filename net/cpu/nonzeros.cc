#include "net/cpu/nonzeros.h"

#include <cstddef>

#ifdef __AVX512F__
#include <immintrin.h>
#endif

namespace starling::net::cpu {

int FindIndices(Which which, int n, const float* x, int* out) {
  const bool any_sign = which == Which::kNonzero;
  int count = 0, i = 0;
#ifdef __AVX512F__
  // Seven times faster than the loop below, which would take 8 % of the MinAtar net's time.
  __m512i index = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  for (; i + 16 <= n; i += 16) {
    const __m512 values = _mm512_loadu_ps(x + i), zero = _mm512_setzero_ps();
    const __mmask16 set = any_sign ? _mm512_cmp_ps_mask(values, zero, _CMP_NEQ_UQ)
                                   : _mm512_cmp_ps_mask(values, zero, _CMP_GT_OQ);
    _mm512_storeu_si512(out + count, _mm512_maskz_compress_epi32(set, index));
    count += __builtin_popcount(set);
    index = _mm512_add_epi32(index, _mm512_set1_epi32(16));
  }
#endif
  for (; i < n; ++i) {
    // No branch: it would be unpredictable.
    out[count] = i;
    count += any_sign ? x[i] != 0.0f : x[i] > 0.0f;
  }
  return count;
}

bool SparseRows::Find(Which which, int rows, int width, const float* x, int most) {
  indices_.resize(most + width + 16);
  begin_.assign(1, 0);
  int count = 0;
  for (int i = 0; i < rows; ++i, x += width) {
    count += FindIndices(which, width, x, indices_.data() + count);
    if (count > most) return false;
    begin_.push_back(count);
  }
  return true;
}

}  // namespace starling::net::cpu
