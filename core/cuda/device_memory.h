// The memory of a GPU, and page-locked memory of the host beside it.
#pragma once

#include <cuda_runtime_api.h>

#include "core/memory.h"

namespace starling::cuda {

// Page-locked host memory, which a GPU reads and writes directly.
class PinnedMemory final : public HostSideMemory {
 public:
  void* Allocate(std::size_t bytes) override;
  void Free(void* data) noexcept override { cudaFreeHost(data); }
};

class DeviceMemory final : public Memory {
 public:
  explicit DeviceMemory(cudaStream_t stream) : stream_(stream) {}

  bool on_host() const override { return false; }
  Memory& host_side() override { return pinned_; }

  void* Allocate(std::size_t bytes) override;
  void Free(void* data) noexcept override { cudaFree(data); }

  void Clear(void* to, std::size_t bytes) override;
  void Copy(void* to, const void* from, std::size_t bytes) override {
    if (to != from) Move(to, from, bytes, cudaMemcpyDeviceToDevice);
  }
  void Write(void* to, const void* from, std::size_t bytes) override {
    Move(to, from, bytes, cudaMemcpyHostToDevice);
  }
  void Read(void* to, const void* from, std::size_t bytes) override {
    Move(to, from, bytes, cudaMemcpyDeviceToHost);
  }
  void Wait() override;

 private:
  void Move(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind);

  cudaStream_t stream_;
  PinnedMemory pinned_;
};

}  // namespace starling::cuda
