#include "net/cpu/nonzeros.h"

#include <array>
#include <cstddef>
#include <cstdint>

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace starling::net::cpu {

#if defined(__AVX2__) && !defined(__AVX512F__)
namespace {

// For each set of eight places the places in it, ascending; behind them zeros.
using Places = std::array<std::array<std::uint8_t, 8>, 256>;

constexpr Places PlacesOfAllSets() {
  Places places{};
  for (unsigned set = 0; set < places.size(); ++set) {
    std::size_t count = 0;
    for (std::uint8_t place = 0; place < 8; ++place) {
      if ((set >> place & 1) != 0) places[set][count++] = place;
    }
  }
  return places;
}

constexpr Places kPlaces = PlacesOfAllSets();

}  // namespace
#endif

int FindIndices(Which which, int n, const float* x, int* out) {
  const bool any_sign = which == Which::kNonzero;
  int count = 0, i = 0;
#ifdef __AVX512F__
  // Seven times faster than the loop below, which would take 8 % of the MinAtar net's time here.
  __m512i index = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  for (; i + 16 <= n; i += 16) {
    const __m512 values = _mm512_loadu_ps(x + i), zero = _mm512_setzero_ps();
    const __mmask16 set = any_sign ? _mm512_cmp_ps_mask(values, zero, _CMP_NEQ_UQ)
                                   : _mm512_cmp_ps_mask(values, zero, _CMP_GT_OQ);
    _mm512_storeu_si512(out + count, _mm512_maskz_compress_epi32(set, index));
    count += __builtin_popcount(set);
    index = _mm512_add_epi32(index, _mm512_set1_epi32(16));
  }
#elif defined(__AVX2__)
  for (; i + 8 <= n; i += 8) {
    const __m256 values = _mm256_loadu_ps(x + i), zero = _mm256_setzero_ps();
    const int set = _mm256_movemask_ps(any_sign ? _mm256_cmp_ps(values, zero, _CMP_NEQ_UQ)
                                                : _mm256_cmp_ps(values, zero, _CMP_GT_OQ));
    if (set == 0) continue;  // most of a screen
    const __m128i places = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(kPlaces[set].data()));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(out + count),
                        _mm256_add_epi32(_mm256_cvtepu8_epi32(places), _mm256_set1_epi32(i)));
    count += __builtin_popcount(static_cast<unsigned>(set));
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
