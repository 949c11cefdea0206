// A GPU: its memory, and the one stream in which all of an actor's work on it is done, in order.
//
// Built without CUDA (core/no_cuda.cc) there are none.
//
// Thread safety: a Gpu belongs to one thread at a time.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/memory.h"

namespace starling {

struct GpuInfo {
  std::string name;          // "NVIDIA H100 80GB HBM3"
  std::size_t memory = 0;    // bytes
  int major = 0, minor = 0;  // compute capability
  int multiprocessors = 0;
};

struct GpuSearch {
  std::vector<GpuInfo> gpus;  // in the order of CUDA_VISIBLE_DEVICES, if that is set
  std::string why_none;       // what is missing and what to do, if there are none
  std::string driver;         // "driver for CUDA 12.8, runtime 13.0"; "" without a driver
};

bool BuiltWithCuda();

// Those that can be used by this program: whose driver is new enough and for which it has code.
// Never throws; takes some tens of milliseconds where there is a driver.
GpuSearch FindGpus();

class Gpu {
 public:
  virtual ~Gpu() = default;
  virtual const GpuInfo& info() const = 0;
  virtual Memory& memory() = 0;
  virtual void* stream() = 0;  // its cudaStream_t

  // Calls work(), which asks for work in the stream; or does, without a call, what was asked under this
  // id before, as one CUDA graph. The first call under an id is done as it is asked (so that what is
  // allocated once is), the second recorded. Within work() nothing waits and nothing is allocated the
  // second time.
  virtual void Repeat(int id, const std::function<void()>& work) = 0;
};

// GPU `index` of FindGpus().gpus. Throws UserError, in one sentence with what to do, if there is none
// or it cannot be had (another process holds it alone, its memory is full).
std::unique_ptr<Gpu> OpenGpu(int index);

}  // namespace starling
