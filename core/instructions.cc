#include "core/instructions.h"

#include <fmt/format.h>

#ifdef STARLING_HAS_LEVELS
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace starling {
namespace {

#ifdef STARLING_PORTABLE
constexpr bool kPortable = true;
#else
constexpr bool kPortable = false;
#endif

#ifdef STARLING_HAS_LEVELS
// Linux lets a process use the registers of AMX once it has asked for them.
bool MayUseTiles() {
  constexpr long kRequestState = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM
  static const bool may = ::syscall(SYS_arch_prctl, kRequestState, kTileData) == 0;
  return may;
}
#endif

}  // namespace

bool ProcessorHas(Instructions instructions) {
  switch (instructions) {
#ifdef STARLING_HAS_LEVELS
    case Instructions::kAvx2:
      return __builtin_cpu_supports("x86-64-v3") != 0;
    case Instructions::kAvx512:
      return __builtin_cpu_supports("x86-64-v4") != 0;
    case Instructions::kAmx:
      return ProcessorHas(Instructions::kAvx512) && __builtin_cpu_supports("avx512bf16") != 0 &&
             __builtin_cpu_supports("amx-tile") != 0 && __builtin_cpu_supports("amx-bf16") != 0 &&
             MayUseTiles();
#endif
    default:
      return instructions == Instructions::kNative;
  }
}

bool Runs(Instructions instructions) {
  if (instructions == Instructions::kAuto) return true;
  return (instructions == Instructions::kNative) != kPortable && ProcessorHas(instructions);
}

Instructions BestInstructions() {
  for (const auto best : {Instructions::kAmx, Instructions::kAvx512, Instructions::kAvx2}) {
    if (Runs(best)) return best;
  }
  return Instructions::kNative;
}

Instructions InstructionsFor(Instructions asked) {
  return asked != Instructions::kAuto && Runs(asked) ? asked : BestInstructions();
}

std::string WhyNotRun(Instructions instructions) {
  return ProcessorHas(instructions) ? "this program has no code for them"
                                    : "this processor lacks them";
}

std::string OtherInstructions(Instructions asked) {
  if (Runs(asked)) return "";
  return fmt::format("actors.instructions = \"{}\": {}: computing with {}", NameOf(asked),
                     WhyNotRun(asked), NameOf(InstructionsFor(asked)));
}

}  // namespace starling
