#include "net/cpu/amx.h"

#if defined(__AMX_BF16__) && defined(__AVX512BF16__) && defined(__AVX512BW__)

#include <immintrin.h>

#include <dnnl.hpp>
#include <utility>

#include "core/instructions.h"

namespace starling::net::cpu::amx {
namespace {

// The argument of LDTILECFG: all eight registers hold whole tiles.
struct alignas(64) TileConfig {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t line_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t lines[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
static_assert(sizeof(TileConfig) == 64);
const TileConfig kWholeTiles;

// The tile intrinsics of g++ do not declare that they read memory. This barrier completes all
// earlier stores first.
void CompleteStores() { asm volatile("" ::: "memory"); }

// 32 bf16: the 16 floats of `low`, then those of `high`.
__m512i Convert(__m512 low, __m512 high) {
  return std::bit_cast<__m512i>(_mm512_cvtne2ps_pbh(high, low));
}

// 16 pairs of bf16: element i of `even`, then element i of `odd`.
__m512i Pairs(__m512 even, __m512 odd) {
  alignas(64) static constexpr std::uint16_t kOrder[32] = {
      0, 16, 1, 17, 2,  18, 3,  19, 4,  20, 5,  21, 6,  22, 7,  23,
      8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31};
  return _mm512_permutexvar_epi16(_mm512_load_si512(kOrder), Convert(even, odd));
}

// 16 columns of the rows 2i and 2i + 1, as pairs. Rows from `rows` on count as zero.
__m512i PairsOfRows(const float* from, int width, int rows, int i) {
  const __m512 zero = _mm512_setzero_ps();
  const __m512 even = 2 * i < rows ? _mm512_loadu_ps(from + 2 * i * width) : zero;
  const __m512 odd = 2 * i + 1 < rows ? _mm512_loadu_ps(from + (2 * i + 1) * width) : zero;
  return Pairs(even, odd);
}

using Line [[gnu::vector_size(64)]] = std::int32_t;  // 16 pairs

// One stage of a 16 x 16 transposition: in every 2 x 2 block of squares of `step` x `step` pairs,
// the two squares off the diagonal change places.
template <int step>
void Exchange(Line (&line)[16]) {
  [&]<int... c>(std::integer_sequence<int, c...>) {
    for (int i = 0; i < 16; ++i) {
      if ((i & step) != 0) continue;
      const Line a = line[i], b = line[i + step];
      line[i] = __builtin_shufflevector(a, b, (c & step ? 16 + c - step : c)...);
      line[i + step] = __builtin_shufflevector(a, b, (c & step ? 16 + c : c + step)...);
    }
  }
  (std::make_integer_sequence<int, 16>{});
}

void StoreTransposed(Line (&line)[16], Bfloat16* tile) {
  Exchange<1>(line);
  Exchange<2>(line);
  Exchange<4>(line);
  Exchange<8>(line);
  for (int i = 0; i < 16; ++i) {
    _mm512_storeu_si512(tile + 32 * i, std::bit_cast<__m512i>(line[i]));
  }
}

}  // namespace

bool Available() {
  constexpr auto kNeeded = static_cast<unsigned>(dnnl::cpu_isa::avx512_core_amx);
  static const bool available =
      (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & kNeeded) == kNeeded &&
      ProcessorHas(Instructions::kAmx);
  return available;
}

Session::Session() { _tile_loadconfig(&kWholeTiles); }
Session::~Session() { _tile_release(); }

void PackRows(const float* from, int width, int rows, Bfloat16* tile) {
  for (int i = 0; i < 16; ++i, from += width, tile += 32) {
    _mm512_storeu_si512(tile, i < rows ? Convert(_mm512_loadu_ps(from), _mm512_loadu_ps(from + 16))
                                       : _mm512_setzero_si512());
  }
}

void PackPairs(const float* from, int width, int rows, Bfloat16* tile) {
  for (int i = 0; i < 16; ++i) {
    _mm512_storeu_si512(tile + 32 * i, PairsOfRows(from, width, rows, i));
  }
}

void PackRowsTransposed(const float* from, int width, int rows, Bfloat16* tile) {
  Line line[16];
  for (int i = 0; i < 16; ++i) {
    line[i] = std::bit_cast<Line>(PairsOfRows(from, width, rows, i));
  }
  StoreTransposed(line, tile);
}

void PackPairsTransposed(const float* from, int width, Bfloat16* tile) {
  Line line[16];
  for (int i = 0; i < 16; ++i, from += width) {
    line[i] = std::bit_cast<Line>(Convert(_mm512_loadu_ps(from), _mm512_loadu_ps(from + 16)));
  }
  StoreTransposed(line, tile);
}

void Multiply(TileRows left, TileRows right, int steps, float* c, int c_width) {
  CompleteStores();
  // Registers 0 to 3 hold the 2 x 2 tiles of c, 4 and 5 the left factors, 6 and 7 the right ones.
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  const Bfloat16 *a = left.tiles, *b = right.tiles;
  for (int k = 0; k < steps; ++k, a += kTile, b += kTile) {
    _tile_loadd(4, a, 64);
    _tile_loadd(5, a + left.next, 64);
    _tile_loadd(6, b, 64);
    _tile_loadd(7, b + right.next, 64);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  const int line = c_width * 4;  // bytes
  _tile_stored(0, c, line);
  _tile_stored(1, c + 16, line);
  _tile_stored(2, c + 16 * c_width, line);
  _tile_stored(3, c + 16 * c_width + 16, line);
}

}  // namespace starling::net::cpu::amx

#else

namespace starling::net::cpu::amx {

bool Available() { return false; }
Session::Session() = default;
Session::~Session() = default;
void PackRows(const float*, int, int, Bfloat16*) {}
void PackPairs(const float*, int, int, Bfloat16*) {}
void PackRowsTransposed(const float*, int, int, Bfloat16*) {}
void PackPairsTransposed(const float*, int, Bfloat16*) {}
void Multiply(TileRows, TileRows, int, float*, int) {}

}  // namespace starling::net::cpu::amx

#endif
