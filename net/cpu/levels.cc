#include "net/cpu/levels.h"

#include "core/check.h"
#include "core/config/words.h"

namespace starling::net::cpu {

// net/cpu/backend.cc, once for each level.
namespace for_avx2 {
std::unique_ptr<Backend<float>> MakeBackend(Precision precision);
}
namespace for_avx512 {
std::unique_ptr<Backend<float>> MakeBackend(Precision precision);
}
namespace for_amx {
std::unique_ptr<Backend<float>> MakeBackend(Precision precision);
}

std::unique_ptr<Backend<float>> MakeBackendFor(Instructions instructions, Precision precision) {
  CHECK(ProcessorHas(instructions), "{} does not run here", NameOf(instructions));
  switch (instructions) {
    case Instructions::kAvx2:
      return for_avx2::MakeBackend(precision);
    case Instructions::kAvx512:
      return for_avx512::MakeBackend(precision);
    case Instructions::kAmx:
      return for_amx::MakeBackend(precision);
    default:
      CHECK(false, "no level is native");
      return nullptr;
  }
}

}  // namespace starling::net::cpu
