// Denormals: numbers too small for a normal float. Processors compute a hundred times slower with
// them, and the running squares of weights whose gradient has become zero decay into them.
#pragma once

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include <cstdint>

namespace starling {

// Makes the calling thread treat denormal inputs and results as zero from now on (a processor mode;
// no effect on processors without it). Every training thread does so, so results are reproducible.
inline void FlushDenormals() {
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
