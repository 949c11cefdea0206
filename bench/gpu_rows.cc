#include "bench/gpu_rows.h"

#include <fmt/format.h>

namespace starling::bench {
namespace {

// "NVIDIA H100, compute capability 9.0, 132 multiprocessors, 80 GiB", or why there is none.
std::string NameOf(const GpuSearch& found) {
  if (found.gpus.empty()) return "GPU: " + found.why_none;
  const GpuInfo& gpu = found.gpus[0];
  return fmt::format("{}, compute capability {}.{}, {} multiprocessors, {:.0f} GiB", gpu.name,
                     gpu.major, gpu.minor, gpu.multiprocessors,
                     static_cast<double>(gpu.memory) / (1024.0 * 1024 * 1024));
}

}  // namespace

GpuRows::GpuRows(const Site& site, const GpuSearch& found)
    : site_(site), why_none_(found.why_none), result_{.details = NameOf(found) + ".\n\n"} {}

void GpuRows::Broken(const std::exception& error) {
  Tell(error.what());
  result_.broken = true;
}

void GpuRows::NotMeasured(const std::string& key, const std::string& why, Row& row) {
  row.measured = "not measured: " + (why == why_none_ ? "no GPU (see below)" : why);
  result_.json[key] = {{"not_measured", why}};
}

}  // namespace starling::bench
