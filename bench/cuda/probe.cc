#include <cuda_runtime_api.h>

#include <vector>

#include "bench/cuda/nothing.h"
#include "bench/gpu_limits.h"
#include "bench/timed_gpu.h"
#include "core/cuda/errors.h"

namespace starling::bench {
namespace {

using cuda::Check;

class EventWatch final : public Stopwatch {
 public:
  explicit EventWatch(Gpu& gpu) : stream_(static_cast<cudaStream_t>(gpu.stream())) {}
  ~EventWatch() override {
    for (const cudaEvent_t event : events_) cudaEventDestroy(event);
  }

  void Tick() override {
    if (used_ == events_.size()) {
      Check(cudaEventCreate(&events_.emplace_back()), "making an event");
    }
    Check(cudaEventRecord(events_[used_++], stream_), "recording an event");
  }

  double TakeSeconds() override {
    float sum_ms = 0;
    for (std::size_t i = 0; i + 1 < used_; i += 2) {
      float ms = 0;
      Check(cudaEventElapsedTime(&ms, events_[i], events_[i + 1]), "reading an event");
      sum_ms += ms;
    }
    used_ = 0;
    return static_cast<double>(sum_ms) / 1e3;
  }

 private:
  const cudaStream_t stream_;
  std::vector<cudaEvent_t> events_;
  std::size_t used_ = 0;
};

}  // namespace

Probe CudaProbe() {
  return {.queue_nothing = [](Gpu& gpu) { cuda::ForEach(gpu.stream(), 1, Nothing()); },
          .spin =
              [](Gpu& gpu) {
                cudaError_t status = cudaErrorNotReady;
                while (status == cudaErrorNotReady) {
                  status = cudaStreamQuery(static_cast<cudaStream_t>(gpu.stream()));
                }
                cudaGetLastError();  // "not ready" is no error for the next wait
                Check(status, "computing");
              }};
}

std::unique_ptr<Stopwatch> WatchOf(Gpu& gpu) { return std::make_unique<EventWatch>(gpu); }

}  // namespace starling::bench
