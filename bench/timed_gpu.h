// A GPU that measures the time of its repeated work, with the launches.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "core/gpu.h"

namespace starling::bench {

// Ticks in the order of the work of a GPU.
class Stopwatch {
 public:
  virtual ~Stopwatch() = default;
  virtual void Tick() = 0;  // queued behind all earlier work
  // Returns the time from each first to each second tick since the last call, in seconds. REQUIRES:
  // the work is done (Memory::Wait).
  virtual double TakeSeconds() = 0;
};
std::unique_ptr<Stopwatch> WatchOf(Gpu& gpu);

class TimedGpu final : public Gpu {
 public:
  TimedGpu(std::unique_ptr<Gpu> gpu, std::unique_ptr<Stopwatch> watch)
      : gpu_(std::move(gpu)), watch_(std::move(watch)) {}

  const GpuInfo& info() const override { return gpu_->info(); }
  Memory& memory() override { return gpu_->memory(); }
  void* stream() override { return gpu_->stream(); }
  void Repeat(int id, const std::function<void()>& work) override {
    watch_->Tick();
    gpu_->Repeat(id, work);
    watch_->Tick();
  }

  // As Stopwatch's.
  double TakeSeconds() { return watch_->TakeSeconds(); }

 private:
  std::unique_ptr<Gpu> gpu_;
  std::unique_ptr<Stopwatch> watch_;  // before the GPU, which it uses, is gone
};

}  // namespace starling::bench
