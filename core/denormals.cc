#include "core/denormals.h"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include <cstdint>

namespace starling {

void FlushDenormals() {
#if defined(__SSE__)
  constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;  // bits of MXCSR
  _mm_setcsr(_mm_getcsr() | kFlushToZero | kDenormalsAreZero);
#elif defined(__aarch64__)
  constexpr std::uint64_t kFlushToZero = std::uint64_t{1} << 24;  // bit FZ of FPCR
  std::uint64_t mode = 0;
  asm volatile("mrs %0, fpcr" : "=r"(mode));
  asm volatile("msr fpcr, %0" : : "r"(mode | kFlushToZero));
#endif
}

}  // namespace starling
