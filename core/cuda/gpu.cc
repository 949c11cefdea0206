#include "core/gpu.h"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

#include "core/check.h"
#include "core/error.h"

namespace starling {
namespace {

// ---- errors of the CUDA runtime as sentences for the operator

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

// Returns the cause and the remedy, one sentence.
const char* Advice(cudaError_t status) {
  if (const char* const advice = OperatorsAdvice(status)) return advice;
  return "the GPU was lost or failed: check the driver's messages in the system log (dmesg, Xid), "
         "and run `starling doctor`";
}

// Throws if `status` is not success: UserError if the GPU's memory is full or the GPU is not
// available, else std::runtime_error (the GPU was lost, or our bug). `action` names the failed
// action: "allocating 3.2 GiB".
void Check(cudaError_t status, const char* action) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // clears the error: a later check must not report it again
  const std::string sentence = fmt::format("the GPU: {} failed ({}): {}", action,
                                           cudaGetErrorString(status), Advice(status));
  if (OperatorsAdvice(status) != nullptr) throw UserError(sentence);
  throw std::runtime_error(sentence);
}

// ---- memory

std::string Gib(std::size_t bytes) {
  return fmt::format("allocating {:.2f} GiB", static_cast<double>(bytes) / (1024.0 * 1024 * 1024));
}

// Page-locked host memory, which a GPU reads and writes directly.
class PinnedMemory final : public HostSideMemory {
 public:
  void* Allocate(std::size_t bytes) override {
    void* data = nullptr;
    const cudaError_t status =
        cudaHostAlloc(&data, std::max<std::size_t>(bytes, 1), cudaHostAllocDefault);
    if (status == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      throw UserError(Gib(bytes) +
                      " of this machine's memory for a GPU to read failed: make "
                      "actors.envs_per_actor, actors.unroll or actors.count smaller");
    }
    Check(status, Gib(bytes).c_str());
    Clear(data, bytes);
    return data;
  }
  void Free(void* data) noexcept override { cudaFreeHost(data); }
};

class DeviceMemory final : public Memory {
 public:
  explicit DeviceMemory(cudaStream_t stream) : stream_(stream) {}

  bool on_host() const override { return false; }
  Memory& host_side() override { return pinned_; }

  void* Allocate(std::size_t bytes) override {
    void* data = nullptr;
    Check(cudaMalloc(&data, std::max<std::size_t>(bytes, 1)), Gib(bytes).c_str());
    Clear(data, bytes);
    return data;
  }
  void Free(void* data) noexcept override { cudaFree(data); }

  void Clear(void* to, std::size_t bytes) override {
    if (bytes > 0) Check(cudaMemsetAsync(to, 0, bytes, stream_), "clearing its memory");
  }
  void Copy(void* to, const void* from, std::size_t bytes) override {
    if (to != from) Move(to, from, bytes, cudaMemcpyDeviceToDevice);
  }
  void Write(void* to, const void* from, std::size_t bytes) override {
    Move(to, from, bytes, cudaMemcpyHostToDevice);
  }
  void Read(void* to, const void* from, std::size_t bytes) override {
    Move(to, from, bytes, cudaMemcpyDeviceToHost);
  }
  void Wait() override {
    Check(cudaStreamSynchronize(stream_), "computing");
    Check(cudaGetLastError(), "starting a kernel");
  }

 private:
  void Move(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind) {
    if (bytes > 0) Check(cudaMemcpyAsync(to, from, bytes, kind, stream_), "moving numbers");
  }

  cudaStream_t stream_;
  PinnedMemory pinned_;
};

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

class CudaGpu final : public Gpu {
 public:
  explicit CudaGpu(GpuInfo info) : info_(std::move(info)) {
    // A waiting thread sleeps instead of spinning: environments need the cores.
    Check(cudaInitDevice(info_.number, cudaDeviceScheduleBlockingSync, cudaInitDeviceFlagsAreValid),
          "opening it");
    Check(cudaSetDevice(info_.number), "opening it");
    Check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
    memory_ = std::make_unique<DeviceMemory>(stream_);
  }
  ~CudaGpu() override {
    recordings_.clear();
    cudaStreamDestroy(stream_);
  }

  const GpuInfo& info() const override { return info_; }
  Memory& memory() override { return *memory_; }
  void* stream() override { return stream_; }

  void Repeat(int id, const std::function<void()>& work) override {
    const auto [at, first] = recordings_.try_emplace(id);
    if (first) return work();
    if (at->second == nullptr) at->second = std::make_unique<Recording>(stream_, work);
    at->second->Play(stream_);
  }

 private:
  const GpuInfo info_;
  cudaStream_t stream_ = nullptr;
  std::unique_ptr<DeviceMemory> memory_;
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
        "-DCMAKE_CUDA_ARCHITECTURES={}{} (8.0 is the lowest that is supported), or set "
        "actors.backend = \"cpu\"",
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
    found.why_none =
        fmt::format("no GPU can be used ({}): {}", cudaGetErrorString(status), Advice(status));
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
