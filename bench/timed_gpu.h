// A GPU that measures the time of its repeated work, with the launches.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "core/gpu.h"

namespace starling::bench {

class TimedGpu final : public Gpu {
 public:
  explicit TimedGpu(std::unique_ptr<Gpu> gpu) : gpu_(std::move(gpu)), watch_(gpu_->MakeWatch()) {}

  const GpuInfo& info() const override { return gpu_->info(); }
  Memory& memory() override { return gpu_->memory(); }
  void* stream() override { return gpu_->stream(); }
  void Repeat(int id, const std::function<void()>& work) override {
    watch_->Tick();
    gpu_->Repeat(id, work);
    watch_->Tick();
  }

  std::unique_ptr<GpuWatch> MakeWatch() override { return gpu_->MakeWatch(); }

  // Since the last call. REQUIRES: the work is done (Memory::Wait).
  std::int64_t TakeNs() {
    std::int64_t sum = 0;
    const std::vector<std::int64_t> all = watch_->TakeNs();
    for (std::size_t i = 0; i < all.size(); i += 2) sum += all[i];  // not the time between
    return sum;
  }

 private:
  std::unique_ptr<Gpu> gpu_;
  std::unique_ptr<GpuWatch> watch_;  // before the GPU, which it uses, is gone
};

}  // namespace starling::bench
