#include "core/error.h"
#include "core/instructions.h"
#include "net/backend.h"
#include "net/cpu/gemm.h"
#include "net/cpu/levels.h"

namespace starling::net {
namespace cpu::for_native {
std::unique_ptr<Backend<float>> MakeBackend(Precision precision);  // net/cpu/backend.cc
}

std::unique_ptr<Backend<float>> MakeCpuBackend(Precision precision) {
  if (precision == Precision::kTf32) {
    throw UserError(
        "net.precision: \"tf32\" needs a GPU: use \"f32\", or actors.backend = \"cuda\"",
        "net.precision");
  }
  if (precision == Precision::kBf16 && !cpu::HasBf16Products()) {
    throw UserError(
        "net.precision: this processor has no bf16 products (avx512_bf16 or amx_bf16): use "
        "\"f32\"",
        "net.precision");
  }
#ifdef STARLING_PORTABLE
  return cpu::MakeBackendFor(BestInstructions(), precision);
#else
  return cpu::for_native::MakeBackend(precision);
#endif
}

}  // namespace starling::net
