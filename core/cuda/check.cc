#include "core/cuda/check.h"

#include <fmt/format.h>

#include <stdexcept>

#include "core/error.h"

namespace starling::cuda {
namespace {

// Something that the operator can change before it is tried again.
bool IsTheOperators(cudaError_t status) {
  switch (status) {
    case cudaErrorMemoryAllocation:
    case cudaErrorNoDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorDevicesUnavailable:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidDevice:
    case cudaErrorUnsupportedPtxVersion:
      return true;
    default:
      return false;
  }
}

}  // namespace

const char* Advice(cudaError_t status) {
  switch (status) {
    case cudaErrorMemoryAllocation:
      return "its memory is full: make actors.envs_per_actor, actors.unroll or actors.count "
             "smaller, "
             "or end what else runs on it (nvidia-smi shows it)";
    case cudaErrorNoDevice:
      return "there is none: check nvidia-smi and CUDA_VISIBLE_DEVICES, or set actors.backend = "
             "\"cpu\"";
    case cudaErrorInsufficientDriver:
      return "its driver is too old or absent: install one for CUDA 12 or newer, or set "
             "actors.backend = \"cpu\"";
    case cudaErrorDevicesUnavailable:
      return "another process holds it alone (nvidia-smi shows the compute mode): end that "
             "process, "
             "or choose another GPU by CUDA_VISIBLE_DEVICES";
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
      return "this program has no code for it: build with -DCMAKE_CUDA_ARCHITECTURES=native on "
             "this "
             "machine";
    case cudaErrorInvalidDevice:
      return "there is no GPU of that number: check CUDA_VISIBLE_DEVICES";
    default:
      return "the GPU was lost or failed: look into the system's log for its driver (dmesg, Xid), "
             "and run `starling doctor`";
  }
}

void Check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  const std::string sentence =
      fmt::format("the GPU: {} failed ({}): {}", what, cudaGetErrorString(status), Advice(status));
  if (IsTheOperators(status)) throw UserError(sentence);
  throw std::runtime_error(sentence);
}

}  // namespace starling::cuda
