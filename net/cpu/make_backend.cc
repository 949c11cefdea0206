#include <fmt/format.h>

#include <dnnl.hpp>
#include <mutex>

#include "core/error.h"
#include "core/instructions.h"
#include "net/backend.h"
#include "net/cpu/gemm.h"
#include "net/cpu/levels.h"

namespace starling::net {
namespace cpu::for_native {
std::unique_ptr<Backend<float>> MakeBackend(Precision precision);  // net/cpu/backend.cc
}

namespace {

#ifdef STARLING_PORTABLE
// Limits oneDNN, which by itself takes the best instructions of the processor, to `instructions`.
// That is possible once in a process, and only before oneDNN has chosen: computing a product makes
// it choose, and so does asking what it would choose.
void LimitOneDnnTo(Instructions instructions) {
  static std::mutex mutex;
  static auto limit = Instructions::kAuto;
  const std::lock_guard lock(mutex);
  if (limit == instructions) return;
  // With avx512 it takes avx512_bf16, too, where the processor has it.
  const auto most = instructions == Instructions::kAvx2     ? dnnl::cpu_isa::avx2
                    : instructions == Instructions::kAvx512 ? dnnl::cpu_isa::avx512_core_bf16
                                                            : dnnl::cpu_isa::avx512_core_amx;
  if (limit != Instructions::kAuto || dnnl::set_max_cpu_isa(most) != dnnl::status::success) {
    throw UserError(
        fmt::format("actors.instructions: one process computes with one kind of "
                    "instructions, this one already with {}, not with {}",
                    limit == Instructions::kAuto ? "others" : NameOf(limit), NameOf(instructions)),
        "actors.instructions");
  }
  limit = instructions;
}
#endif

}  // namespace

void CheckCpuBackend(Precision precision, Instructions instructions) {
  if (precision == Precision::kTf32) {
    throw UserError(
        "net.precision: \"tf32\" needs a GPU: use \"f32\", or actors.backend = \"cuda\"",
        "net.precision");
  }
  const bool avx2 = InstructionsFor(instructions) == Instructions::kAvx2;
  if (precision == Precision::kBf16 && (avx2 || !cpu::HasBf16Products())) {
    throw UserError(
        avx2 ? "net.precision: there are no bf16 products with actors.instructions = \"avx2\": use "
               "\"f32\""
             : "net.precision: this processor has no bf16 products (avx512_bf16 or amx_bf16): use "
               "\"f32\"",
        "net.precision");
  }
}

std::unique_ptr<Backend<float>> MakeCpuBackend(Precision precision, Instructions instructions) {
  CheckCpuBackend(precision, instructions);
#ifdef STARLING_PORTABLE
  instructions = InstructionsFor(instructions);
  LimitOneDnnTo(instructions);
  return cpu::MakeBackendFor(instructions, precision);
#else
  return cpu::for_native::MakeBackend(precision);
#endif
}

}  // namespace starling::net
