#include "core/cuda/device_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "core/cuda/each.h"
#include "core/cuda/errors.h"
#include "core/error.h"

namespace starling::cuda {
namespace {

std::string Allocating(std::size_t bytes) {
  return fmt::format("allocating {:.2f} GiB", static_cast<double>(bytes) / (1024.0 * 1024 * 1024));
}

}  // namespace

void* PinnedMemory::Allocate(std::size_t bytes) {
  void* data = nullptr;
  const cudaError_t status =
      cudaHostAlloc(&data, std::max<std::size_t>(bytes, 1), cudaHostAllocDefault);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw UserError(Allocating(bytes) +
                    " of this machine's memory for a GPU to read failed: make "
                    "actors.envs_per_actor, actors.unroll or actors.count smaller");
  }
  Check(status, Allocating(bytes));
  Clear(data, bytes);
  return data;
}

void* DeviceMemory::Allocate(std::size_t bytes) {
  void* data = nullptr;
  Check(cudaMalloc(&data, std::max<std::size_t>(bytes, 1)), Allocating(bytes));
  Clear(data, bytes);
  return data;
}

void DeviceMemory::Clear(void* to, std::size_t bytes) {
  if (bytes == 0) return;
  Check(cudaMemsetAsync(to, 0, bytes, stream_), "clearing its memory");
  CheckStarted(stream_, "clearing its memory");
}

void DeviceMemory::Wait() { Check(cudaStreamSynchronize(stream_), "computing"); }

void DeviceMemory::Move(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
  if (bytes == 0) return;
  Check(cudaMemcpyAsync(to, from, bytes, kind, stream_), "moving numbers");
  CheckStarted(stream_, "moving numbers");
}

}  // namespace starling::cuda
