// A GPU: its memory, and the one stream in which all of an actor's work on it is done, in order.
//
// Built without CUDA (core/no_cuda.cc) there are none.
//
// Thread safety: a Gpu belongs to the thread that opened it, which opens no other beside it.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/memory.h"

namespace starling {

struct GpuInfo {
  std::string name;          // "NVIDIA H100 80GB HBM3"
  int number = 0;            // CUDA's
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

// Those that this program can use: whose driver is new enough and for which it has code; others are left
// out. Never throws; takes some tens of milliseconds where there is a driver.
GpuSearch FindGpus();

// Whether a program compiled for `architectures`, as CMake names them ("80-real;90": code for 8.x, and for
// 9.0 code and what a driver translates for all that are newer), runs on compute capability
// MAJOR.MINOR. Of names that are no numbers ("native", "all") it is true.
bool HasCodeFor(std::string_view architectures, int major, int minor);

class Gpu {
 public:
  virtual ~Gpu() = default;
  virtual const GpuInfo& info() const = 0;
  virtual Memory& memory() = 0;
  virtual void* stream() = 0;  // its cudaStream_t

  // Ids belong to the Gpu: whoever shares it shares them. Calls work(), which asks for work in the stream; or does, without a call, what was asked under this
  // id before, as one CUDA graph. The first call under an id is done as it is asked (so that what is
  // allocated once is), the second recorded. Within work() nothing waits and nothing is allocated the
  // second time.
  virtual void Repeat(int id, const std::function<void()>& work) = 0;
};

// GPU `index` of FindGpus().gpus. Throws UserError, in one sentence with what to do, if there is none
// or it cannot be had (another process holds it alone, its memory is full).
std::unique_ptr<Gpu> OpenGpu(int index);

}  // namespace starling
