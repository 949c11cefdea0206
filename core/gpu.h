// A GPU: its memory, and the one stream that runs all of an actor's work on it in order.
// A build without CUDA (core/no_cuda.cc) finds no GPUs.
//
// Thread safety: a Gpu belongs to the thread that opened it. A thread has at most one open.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "core/memory.h"

namespace starling {

struct GpuInfo {
  std::string name;          // "NVIDIA H100 80GB HBM3"
  int number = 0;            // CUDA's device number
  std::size_t memory = 0;    // bytes
  int major = 0, minor = 0;  // compute capability
  int multiprocessors = 0;
};

struct GpuSearch {
  std::vector<GpuInfo> gpus;  // in the order of CUDA_VISIBLE_DEVICES, if that is set
  std::string why_none;       // if there are none: the reason and the remedy
  std::string driver;         // "driver for CUDA 12.8, runtime 13.0"; "" without a driver
};

bool BuiltWithCuda();

// Finds the GPUs that this program can use: the driver is new enough and the program has code for
// them. Never throws. Takes some tens of milliseconds if there is a driver.
GpuSearch FindGpus();

// Returns whether a program compiled for `architectures` runs on compute capability MAJOR.MINOR.
// `architectures` is CMake's list: "80-real;90" is machine code for 8.x, machine code for 9.0, and
// PTX that a driver translates for every newer GPU. Names that are no numbers ("native", "all")
// match everything.
inline bool HasCodeFor(std::string_view architectures, int major, int minor) {
  // `name` is a number ("90" is 9.0), an optional letter for that GPU alone ("90a"), and an
  // optional "-real" (machine code only) or "-virtual" (PTX only).
  const auto covers = [wanted = 10 * major + minor, major](std::string_view name) {
    int number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error != std::errc()) return true;
    const std::string_view kind(end, name.data() + name.size());
    if (kind.starts_with("a")) return number == wanted;
    const bool translated = number <= wanted, same = number / 10 == major;
    return translated && (same || kind != "-real");
  };
  while (!architectures.empty()) {
    const std::size_t end = std::min(architectures.find(';'), architectures.size());
    if (covers(architectures.substr(0, end))) return true;
    architectures.remove_prefix(std::min(end + 1, architectures.size()));
  }
  return false;
}

// The end of a message about a failed allocation.
inline constexpr char kGpuMemoryFull[] =
    "its memory is full: make actors.envs_per_actor, actors.unroll or actors.count smaller, or end "
    "other programs on it (nvidia-smi lists them)";

// Ticks in the work of a GPU, and the time from each to the next.
class GpuWatch {
 public:
  virtual ~GpuWatch() = default;
  virtual void Tick() = 0;  // queued behind all earlier work; not within a Repeat
  // Waits for the work before the last tick, not for later work. Throws as Memory::Wait.
  virtual void Wait() = 0;
  // Returns the nanoseconds from each tick since the last call to the next. REQUIRES: the work
  // before the last tick is done.
  virtual std::vector<std::int64_t> TakeNs() = 0;
};

class Gpu {
 public:
  virtual ~Gpu() = default;
  virtual const GpuInfo& info() const = 0;
  virtual Memory& memory() = 0;
  virtual void* stream() = 0;  // its cudaStream_t

  // Runs repeated work as a CUDA graph. The first call with an id calls work(), which queues work
  // in the stream and may allocate. The second records work() as a graph and launches it. Later
  // calls launch that graph and do not call work(). All users of a Gpu share its ids. REQUIRES:
  // work() never waits, and allocates nothing in its second call.
  virtual void Repeat(int id, const std::function<void()>& work) = 0;

  // The GPU must outlive the watch.
  virtual std::unique_ptr<GpuWatch> MakeWatch() = 0;
};

// Opens GPU `index` of FindGpus().gpus. Throws UserError, one sentence with the remedy, if there is
// none or it is not available (another process holds it alone, its memory is full).
std::unique_ptr<Gpu> OpenGpu(int index);

}  // namespace starling
