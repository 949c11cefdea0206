#include "bench/gpu_limits.h"

#include <fmt/format.h>

#include <cstddef>

#include "bench/gpu_rows.h"
#include "bench/stats.h"
#include "core/memory.h"

namespace starling::bench {
namespace {

template <class Work>
double MedianUs(double seconds, const Work& work) {
  return Median(TimeManyNs(seconds, work)) / 1e3;
}

double CopyGbPerSecond(Gpu& gpu, double seconds) {
  constexpr std::size_t kBytes = std::size_t{256} << 20;  // more than its cache holds
  constexpr int kCopies = 8;
  Buffer<std::byte> from(kBytes, gpu.memory()), to(kBytes, gpu.memory());
  const double us = MedianUs(seconds, [&] {
    gpu.Repeat(0, [&] {
      for (int i = 0; i < kCopies; ++i) {
        gpu.memory().Copy(to.span().data(), from.span().data(), kBytes);
      }
    });
    gpu.memory().Wait();
  });
  return 2.0 * kCopies * static_cast<double>(kBytes) / us / 1e3;
}

}  // namespace

Limits MeasureLimits(Gpu& gpu, const Probe& probe, double seconds) {
  constexpr std::size_t kFloats = 131'072;  // 0.5 MB
  constexpr int kNodes = 1000;
  Memory& memory = gpu.memory();
  Buffer<float> there(kFloats, memory), here(kFloats, memory.host_side());
  Limits limits{.copy_gb_s = CopyGbPerSecond(gpu, seconds)};
  limits.up_us = MedianUs(seconds, [&] {
    Write<float>(memory, there.span(), here.span());
    memory.Wait();
  });
  limits.down_us = MedianUs(seconds, [&] {
    Read<float>(memory, here.span(), there.span());
    memory.Wait();
  });
  limits.node_us = MedianUs(seconds,
                            [&] {
                              gpu.Repeat(1, [&] {
                                for (int i = 0; i < kNodes; ++i) probe.queue_nothing(gpu);
                              });
                              memory.Wait();
                            }) /
                   kNodes;
  limits.blocking_us = MedianUs(seconds, [&] {
    probe.queue_nothing(gpu);
    memory.Wait();
  });
  limits.spin_us = MedianUs(seconds, [&] {
    probe.queue_nothing(gpu);
    probe.spin(gpu);
  });
  return limits;
}

Result MeasureGpuLimits(const Site& site) {
  GpuRows rows(site);
  Limits limits;
  rows.Add("copy", {.what = "A GPU's memory: a copy of 256 MB, bytes read and written"},
           [&](Row& row) {
             const auto gpu = OpenGpu(0);
             limits = MeasureLimits(*gpu, CudaProbe(), site.quick ? 0.05 : 0.5);
             row.measured = fmt::format("{:.0f} GB/s", limits.copy_gb_s);
             return Json{{"gb_s", limits.copy_gb_s}};
           });
  const auto add_us = [&](const char* key, const char* what, double Limits::*us) {
    rows.Add(key, {.what = what}, [&](Row& row) {
      if (!(limits.*us > 0)) throw UserError("see above");
      row.measured = fmt::format("{:.2f} µs", limits.*us);
      return Json{{"us", limits.*us}};
    });
  };
  add_us("up", "… 0.5 MB from pinned memory, and the wait", &Limits::up_us);
  add_us("down", "… 0.5 MB back, and the wait", &Limits::down_us);
  add_us("node", "… an empty kernel of a graph, one of 1,000", &Limits::node_us);
  add_us("blocking", "… an empty kernel, and a wait that sleeps", &Limits::blocking_us);
  add_us("spinning", "… an empty kernel, and a wait that spins", &Limits::spin_us);
  return rows.Take();
}

}  // namespace starling::bench
