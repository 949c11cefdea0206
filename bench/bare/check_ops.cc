// Compares ops with the reference in double: the reference in float, and the GPU's backend in each
// precision.
#include <fmt/format.h>

#include <memory>

#include "bench/bare/report.h"
#include "core/gpu.h"
#include "net/backend.h"
#include "net/checks/op_checks.h"

namespace starling::bare {
namespace {

void Check(Report& report, const char* name, net::Backend<float>& backend, Precision precision) {
  for (const net::OpCheck& op : net::OpChecks()) {
    report.Check(fmt::format("ops: {}: {}", name, op.op), [&]() -> Verdict {
      const net::OpError found = net::CheckOp(op, backend, precision);
      return {found.ok(),
              fmt::format("off by {:.1e} of {:.1e} allowed{}{}", found.error, found.tolerance,
                          found.where.empty() ? "" : ", ", found.where)};
    });
  }
}

}  // namespace

void CheckOps(Report& report) {
  Check(report, "reference", *net::MakeReferenceBackend<float>(), Precision::kF32);
  if (const GpuSearch found = FindGpus(); found.gpus.empty()) {
    return report.Skip("ops: cuda", found.why_none);
  }
  const struct {
    const char* name;
    Precision precision;
  } backends[] = {{"cuda f32", Precision::kF32},
                  {"cuda tf32", Precision::kTf32},
                  {"cuda bf16", Precision::kBf16}};
  // A backend that cannot be made fails its own check and has no others.
  for (const auto& [name, precision] : backends) {
    std::unique_ptr<Gpu> gpu;
    std::unique_ptr<net::Backend<float>> backend;
    report.Check(fmt::format("ops: {}: made", name), [&]() -> Verdict {
      gpu = OpenGpu(0);
      backend = net::MakeCudaBackend(*gpu, precision);
      return {.text = gpu->info().name};
    });
    if (backend != nullptr) Check(report, name, *backend, precision);
  }
}

}  // namespace starling::bare
