#include "core/cuda/errors.h"

#include <cxxabi.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string_view>

#include "core/cuda/each.h"
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
    {cudaErrorNoDevice, "there is none: check nvidia-smi and CUDA_VISIBLE_DEVICES"},
    {cudaErrorInsufficientDriver,
     "its driver is too old: install one for CUDA " STARLING_CUDA_MAJOR " or newer"},
    {cudaErrorStubLibrary,
     "the library of the driver (libcuda.so.1) is the toolkit's stand-in for linking: take its "
     "folder \"stubs\" off LD_LIBRARY_PATH"},
    {cudaErrorCompatNotSupportedOnDevice,
     "this GPU does not support the toolkit's newer library of the driver (cuda-compat): remove "
     "that, or take its folder off LD_LIBRARY_PATH"},
    {cudaErrorInitializationError,
     "the driver does not start: try nvidia-smi; in a container, pass the GPU on (--gpus all); "
     "after an update, reboot"},
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
    {cudaErrorUnknown,
     "the driver does not say why: try nvidia-smi; in a container, pass the GPU on (--gpus all); "
     "load the module nvidia-uvm, or reboot"},
    {cudaErrorSystemDriverMismatch,
     "the driver and its library are of different versions: after an update, reboot"},
};

const char* OperatorsAdvice(cudaError_t status) {
  for (const Explanation& explanation : kOperators) {
    if (explanation.status == status) return explanation.advice;
  }
  return nullptr;
}

// What wrong code ends with. A faulty GPU may end so, too.
constexpr cudaError_t kOfWrongCode[] = {cudaErrorAssert,
                                        cudaErrorInvalidResourceHandle,
                                        cudaErrorStreamCaptureUnsupported,
                                        cudaErrorStreamCaptureInvalidated,
                                        cudaErrorIllegalAddress,
                                        cudaErrorMisalignedAddress,
                                        cudaErrorInvalidAddressSpace,
                                        cudaErrorInvalidPc,
                                        cudaErrorIllegalInstruction,
                                        cudaErrorHardwareStackError,
                                        cudaErrorLaunchFailure,
                                        cudaErrorInvalidConfiguration,
                                        cudaErrorInvalidValue,
                                        cudaErrorLaunchOutOfResources,
                                        cudaErrorInvalidDeviceFunction};

// The name of a type as in the source.
std::string Demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
  return status == 0 ? text.get() : name;
}

}  // namespace

std::string Advice(cudaError_t status) {
  if (const char* const advice = OperatorsAdvice(status)) return advice;
  if (std::ranges::find(kOfWrongCode, status) != std::end(kOfWrongCode)) {
    return fmt::format(
        "its code is wrong: {}report it; if `starling doctor` fails, too, the GPU may "
        "be faulty",
        InSteps() ? ""
                  : "run the command again with STARLING_CUDA_SYNC=1, which names "
                    "the code that fails, and ");
  }
  return "the GPU was lost or failed: check the driver's messages in the system log (dmesg, Xid), "
         "and run `starling doctor`";
}

void Check(cudaError_t status, const std::string& action) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // clears the error: a later check must not report it again
  const std::string sentence = fmt::format("the GPU: {} failed ({}): {}", action,
                                           cudaGetErrorString(status), Advice(status));
  if (OperatorsAdvice(status) != nullptr) throw UserError(sentence);
  throw std::runtime_error(sentence);
}

bool InSteps() {
  static const bool in_steps = [] {
    const char* const value = std::getenv("STARLING_CUDA_SYNC");
    return value != nullptr && std::string_view(value) == "1";
  }();
  return in_steps;
}

void CheckStarted(void* stream, const char* work) {
  cudaError_t status = cudaGetLastError();
  if (status == cudaSuccess && InSteps()) {
    status = cudaStreamSynchronize(static_cast<cudaStream_t>(stream));
  }
  if (status == cudaSuccess) return;
  Check(status, InSteps() ? Demangled(work) : Demangled(work) + ", or work before it,");
}

}  // namespace starling::cuda
