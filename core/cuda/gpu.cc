#include "core/gpu.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <map>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/cuda/device_memory.h"
#include "core/cuda/errors.h"
#include "core/error.h"

namespace starling {
namespace {

using cuda::Check;

// The work that work() queues in a stream, recorded as one CUDA graph.
class Recording {
 public:
  Recording(cudaStream_t stream, const std::function<void()>& work) {
    Check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "recording a graph");
    cudaGraph_t graph = nullptr;
    try {
      work();
    } catch (...) {
      cudaStreamEndCapture(stream, &graph);
      cudaGetLastError();  // clears its error: the first one counts
      if (graph != nullptr) cudaGraphDestroy(graph);
      throw;
    }
    Check(cudaStreamEndCapture(stream, &graph), "recording a graph");
    const cudaError_t made = cudaGraphInstantiate(&graph_, graph, 0);
    cudaGraphDestroy(graph);
    Check(made, "making a graph");
  }
  ~Recording() { cudaGraphExecDestroy(graph_); }
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  void Play(cudaStream_t stream) { Check(cudaGraphLaunch(graph_, stream), "starting a graph"); }

 private:
  cudaGraphExec_t graph_ = nullptr;
};

class EventWatch final : public GpuWatch {
 public:
  explicit EventWatch(cudaStream_t stream) : stream_(stream) {}
  ~EventWatch() override {
    for (const cudaEvent_t event : events_) cudaEventDestroy(event);
  }
  EventWatch(const EventWatch&) = delete;
  EventWatch& operator=(const EventWatch&) = delete;

  void Tick() override {
    if (used_ == events_.size()) {
      // As in CudaGpu, a waiting thread sleeps.
      Check(cudaEventCreateWithFlags(&events_.emplace_back(), cudaEventBlockingSync),
            "making an event");
    }
    Check(cudaEventRecord(events_[used_++], stream_), "recording an event");
  }

  void Wait() override {
    if (used_ > 0) Check(cudaEventSynchronize(events_[used_ - 1]), "computing");
  }

  std::vector<std::int64_t> TakeNs() override {
    std::vector<std::int64_t> all;
    for (std::size_t i = 0; i + 1 < used_; ++i) {
      float ms = 0;
      Check(cudaEventElapsedTime(&ms, events_[i], events_[i + 1]), "reading an event");
      all.push_back(static_cast<std::int64_t>(1e6 * ms));
    }
    used_ = 0;
    return all;
  }

 private:
  const cudaStream_t stream_;
  std::vector<cudaEvent_t> events_;
  std::size_t used_ = 0;
};

class CudaGpu final : public Gpu {
 public:
  explicit CudaGpu(GpuInfo info) : info_(std::move(info)) {
    // A waiting thread sleeps instead of spinning: environments need the cores.
    Check(cudaInitDevice(info_.number, cudaDeviceScheduleBlockingSync, cudaInitDeviceFlagsAreValid),
          "opening it");
    Check(cudaSetDevice(info_.number), "opening it");
    Check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
    memory_ = std::make_unique<cuda::DeviceMemory>(stream_);
  }
  ~CudaGpu() override {
    recordings_.clear();
    cudaStreamDestroy(stream_);
  }

  const GpuInfo& info() const override { return info_; }
  Memory& memory() override { return *memory_; }
  void* stream() override { return stream_; }

  void Repeat(int id, const std::function<void()>& work) override {
    if (cuda::InSteps()) return work();
    const auto [at, first] = recordings_.try_emplace(id);
    if (first) return work();
    if (at->second == nullptr) at->second = std::make_unique<Recording>(stream_, work);
    at->second->Play(stream_);
  }
  std::unique_ptr<GpuWatch> MakeWatch() override { return std::make_unique<EventWatch>(stream_); }

 private:
  const GpuInfo info_;
  cudaStream_t stream_ = nullptr;
  std::unique_ptr<cuda::DeviceMemory> memory_;
  std::map<int, std::unique_ptr<Recording>> recordings_;  // null after the first call, not recorded
};

GpuInfo InfoOf(int number) {
  cudaDeviceProp properties{};
  Check(cudaGetDeviceProperties(&properties, number), "asking for its properties");
  return {.name = properties.name,
          .number = number,
          .memory = properties.totalGlobalMem,
          .major = properties.major,
          .minor = properties.minor,
          .multiprocessors = properties.multiProcessorCount};
}

std::string Driver() {
  int driver = 0, runtime = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess || driver == 0) return "";
  if (cudaRuntimeGetVersion(&runtime) != cudaSuccess) return "";
  const auto version = [](int number) {
    return fmt::format("{}.{}", number / 1000, number % 1000 / 10);
  };
  return fmt::format("driver for CUDA {}, runtime {}", version(driver), version(runtime));
}

// Adds GPU `number` to `found`, or the reason why it cannot be used.
void AddGpu(int number, GpuSearch& found) {
  try {
    GpuInfo gpu = InfoOf(number);
    if (HasCodeFor(STARLING_CUDA_ARCHITECTURES, gpu.major, gpu.minor)) {
      found.gpus.push_back(std::move(gpu));
      return;
    }
    found.why_none = fmt::format(
        "the {} has compute capability {}.{}, and this program has code for {} alone: build with "
        "-DCMAKE_CUDA_ARCHITECTURES={}{} (8.0 is the lowest that is supported)",
        gpu.name, gpu.major, gpu.minor, STARLING_CUDA_ARCHITECTURES, gpu.major, gpu.minor);
  } catch (const std::exception& error) {
    found.why_none = error.what();
  }
}

}  // namespace

bool BuiltWithCuda() { return true; }

GpuSearch FindGpus() {
  GpuSearch found{.gpus = {}, .why_none = "", .driver = Driver()};
  int count = 0;
  cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count == 0) status = cudaErrorNoDevice;
  if (status != cudaSuccess) {
    cudaGetLastError();  // clears the error: a later check must not report it again
    if (status == cudaErrorInsufficientDriver && found.driver.empty()) {
      found.why_none =
          "this machine has no NVIDIA driver: install one for CUDA " STARLING_CUDA_MAJOR
          " or newer";
      return found;
    }
    found.why_none = fmt::format("no GPU can be used ({}): {}", cudaGetErrorString(status),
                                 cuda::Advice(status));
    return found;
  }
  for (int number = 0; number < count; ++number) AddGpu(number, found);
  if (!found.gpus.empty()) found.why_none.clear();
  return found;
}

std::unique_ptr<Gpu> OpenGpu(int index) {
  GpuSearch found = FindGpus();
  if (found.gpus.empty()) throw UserError(found.why_none);
  CHECK(index >= 0 && std::cmp_less(index, found.gpus.size()), "GPU {} of {}", index,
        found.gpus.size());
  return std::make_unique<CudaGpu>(std::move(found.gpus[static_cast<std::size_t>(index)]));
}

}  // namespace starling
