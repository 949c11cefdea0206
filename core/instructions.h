// The instruction sets for which the hot loops of a net are compiled. The default build has code
// for the processor of its machine alone (kNative). A portable build (STARLING_NATIVE=OFF) has
// those loops three times (net/cpu/levels.h) and takes the best form that the processor runs; all
// its other code is for x86-64-v3.
//
// Thread safety: pure functions.
#pragma once

#include <array>
#include <cstdint>

namespace starling {

// kAvx2: x86-64-v3. kAvx512: x86-64-v4. kAmx: that, avx512_bf16 and amx_bf16.
enum class Instructions : std::uint8_t { kNative, kAvx2, kAvx512, kAmx };
constexpr auto WordsOf(Instructions) { return std::array{"native", "avx2", "avx512", "amx"}; }

// Whether this processor has them and the system permits their use.
bool Runs(Instructions instructions);

// kNative in a build for this machine, else the best that runs.
Instructions BestInstructions();

}  // namespace starling
