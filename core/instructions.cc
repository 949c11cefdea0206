#include "core/instructions.h"

#ifdef __x86_64__
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace starling {
namespace {

#ifdef __x86_64__
// Linux lets a process use the registers of AMX once it has asked for them.
bool MayUseTiles() {
  constexpr long kRequestState = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM
  static const bool may = ::syscall(SYS_arch_prctl, kRequestState, kTileData) == 0;
  return may;
}

bool Has(Instructions instructions) {
  const bool v4 = __builtin_cpu_supports("x86-64-v4") != 0;
  switch (instructions) {
    case Instructions::kAvx2:
      return __builtin_cpu_supports("x86-64-v3") != 0;
    case Instructions::kAvx512:
      return v4;
    default:
      return v4 && __builtin_cpu_supports("avx512bf16") != 0 &&
             __builtin_cpu_supports("amx-tile") != 0 && __builtin_cpu_supports("amx-bf16") != 0 &&
             MayUseTiles();
  }
}
#else
bool Has(Instructions) { return false; }
#endif

}  // namespace

bool Runs(Instructions instructions) {
  return instructions == Instructions::kNative || Has(instructions);
}

Instructions BestInstructions() {
#ifdef STARLING_PORTABLE
  for (const auto best : {Instructions::kAmx, Instructions::kAvx512}) {
    if (Has(best)) return best;
  }
  return Instructions::kAvx2;
#else
  return Instructions::kNative;
#endif
}

}  // namespace starling
