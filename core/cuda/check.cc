#include "core/cuda/check.h"

#include <fmt/format.h>

#include <stdexcept>

#include "core/error.h"
#include "core/gpu.h"

namespace starling::cuda {
namespace {

struct Explanation {
  cudaError_t status;
  const char* advice;
};
// The errors that the operator can remedy.
constexpr Explanation kOperators[] = {
    {cudaErrorMemoryAllocation, kGpuMemoryFull},
    {cudaErrorNoDevice,
     "there is none: check nvidia-smi and CUDA_VISIBLE_DEVICES, or set actors.backend = \"cpu\""},
    {cudaErrorInsufficientDriver,
     "its driver is too old or absent: install one for CUDA 12 or newer, or set actors.backend = "
     "\"cpu\""},
    {cudaErrorDevicesUnavailable,
     "another process has exclusive use of it (nvidia-smi shows the compute mode): end that "
     "process, or choose another GPU by CUDA_VISIBLE_DEVICES"},
    {cudaErrorNoKernelImageForDevice,
     "this program has no code for it: build with its compute capability, as in "
     "-DCMAKE_CUDA_ARCHITECTURES=90 for 9.0"},
    {cudaErrorUnsupportedPtxVersion,
     "its driver is older than the compiler of this program and cannot translate its code: install "
     "a newer driver, or build with the GPU's compute capability, as in "
     "-DCMAKE_CUDA_ARCHITECTURES=90 for 9.0"},
    {cudaErrorInvalidDevice, "there is no GPU of that number: check CUDA_VISIBLE_DEVICES"},
    {cudaErrorSystemNotReady,
     "the system has not initialised it: on machines with NVSwitch, start nvidia-fabricmanager"},
    {cudaErrorSystemDriverMismatch,
     "the driver and its library are of different versions: after an update, reboot"},
};

const char* OperatorsAdvice(cudaError_t status) {
  for (const Explanation& explanation : kOperators) {
    if (explanation.status == status) return explanation.advice;
  }
  return nullptr;
}

}  // namespace

const char* Advice(cudaError_t status) {
  if (const char* const advice = OperatorsAdvice(status)) return advice;
  return "the GPU was lost or failed: check the driver's messages in the system log (dmesg, Xid), "
         "and run `starling doctor`";
}

void Check(cudaError_t status, const char* action) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // clears the error: a later check must not report it again
  const std::string sentence = fmt::format("the GPU: {} failed ({}): {}", action,
                                           cudaGetErrorString(status), Advice(status));
  if (OperatorsAdvice(status) != nullptr) throw UserError(sentence);
  throw std::runtime_error(sentence);
}

}  // namespace starling::cuda
