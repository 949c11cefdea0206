// Every op of every backend beside the reference.
#include <fmt/format.h>

#include <utility>

#include "core/instructions.h"
#include "net/checks/op_checks.h"
#include "tools/doctor/checks.h"

namespace starling::doctor {
namespace {

Verdict VerdictOf(const net::OpError& found) {
  return {
      .agrees = found.ok(),
      .text = fmt::format("{:.1e} of {:g}{}{}", found.error, found.tolerance,
                          found.ok() ? "" : ", ", found.ok() ? "" : found.where),
      .numbers = {{"error", found.error}, {"tolerance", found.tolerance}, {"where", found.where}}};
}

std::shared_ptr<net::Backend<float>> OnGpu(int index, Precision precision) {
  const std::shared_ptr<Gpu> gpu = OpenGpu(index);
  std::unique_ptr<net::Backend<float>> backend = net::MakeCudaBackend(*gpu, precision);
  // The deleter keeps the GPU alive until the backend is gone.
  return {backend.release(), [gpu](net::Backend<float>* gone) { delete gone; }};
}

}  // namespace

CheckGroup OpGroup(const std::string& device, const std::string& on, Precision precision,
                   const MakeBackend& make) {
  const auto backend = std::make_shared<std::shared_ptr<net::Backend<float>>>();
  CheckGroup group{.kind = "ops", .device = device};
  group.start = [=]() -> Verdict {
    *backend = make();
    return {.text = on};
  };
  for (const net::OpCheck& op : net::OpChecks()) {
    group.checks.push_back({op.op, [=] { return VerdictOf(CheckOp(op, **backend, precision)); }});
  }
  return group;
}

std::vector<CheckGroup> OpGroups(const Machine& machine) {
  // The processor's backends, then those of each GPU.
  std::vector<CheckGroup> groups;
  const auto add_cpu = [&](const char* name, Precision precision) {
    groups.push_back(OpGroup(name, NameOf(BestInstructions()), precision, [=] {
      return std::shared_ptr<net::Backend<float>>(net::MakeCpuBackend(precision));
    }));
  };
  add_cpu("cpu", Precision::kF32);
  if (machine.bf16) add_cpu("cpu bf16", Precision::kBf16);
  const std::vector<GpuInfo>& gpus = machine.gpus.gpus;
  for (int index = 0; index < GpuCount(machine); ++index) {
    for (const auto& [ending, precision] : {std::pair{"", Precision::kF32},
                                            {" tf32", Precision::kTf32},
                                            {" bf16", Precision::kBf16}}) {
      groups.push_back(OpGroup(GpuName(machine, index) + ending,
                               gpus[static_cast<std::size_t>(index)].name, precision,
                               [=, of = precision] { return OnGpu(index, of); }));
    }
  }
  return groups;
}

}  // namespace starling::doctor
