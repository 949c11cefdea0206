#include <fmt/format.h>

#include <future>
#include <map>
#include <utility>

#include "net/backend.h"
#include "tools/doctor/doctor.h"

namespace starling::doctor {
namespace {

std::shared_ptr<net::Backend<float>> OnGpu(int index, Precision precision) {
  const std::shared_ptr<Gpu> gpu = OpenGpu(index);
  std::unique_ptr<net::Backend<float>> backend = net::MakeCudaBackend(*gpu, precision);
  // The deleter keeps the GPU alive until the backend is gone.
  return {backend.release(), [gpu](net::Backend<float>* gone) { delete gone; }};
}

OpRow Begun(const BackendToCheck& of, const char* op) {
  return {.backend = of.name, .found = net::OpError{op, 0, 0, ""}, .failure = ""};
}

OpRow ExamineOp(const net::OpCheck& check, net::Backend<float>& backend, const BackendToCheck& of) {
  OpRow row = Begun(of, check.op);
  try {
    row.found = net::CheckOp(check, backend, of.precision);
  } catch (const std::exception& error) {
    row.failure = error.what();
  }
  return row;
}

std::vector<OpRow> ExamineOne(const BackendToCheck& one) {
  std::vector<OpRow> rows;
  try {
    const auto backend = one.make();
    for (const net::OpCheck& check : net::OpChecks()) {
      rows.push_back(ExamineOp(check, *backend, one));
    }
  } catch (const std::exception& error) {
    rows.push_back(Begun(one, "start"));
    rows.back().failure = error.what();
  }
  return rows;
}

}  // namespace

std::vector<BackendToCheck> Backends(const Machine& machine) {
  std::vector<BackendToCheck> backends;
  // The processor's, then those of each GPU.
  const auto add_cpu = [&](const char* name, Precision precision) {
    backends.push_back(
        {name, "cpu", precision, [=] { return std::shared_ptr(net::MakeCpuBackend(precision)); }});
  };
  add_cpu("cpu", Precision::kF32);
  if (machine.bf16) add_cpu("cpu bf16", Precision::kBf16);
  for (int index = 0; index < static_cast<int>(machine.gpus.gpus.size()); ++index) {
    const std::string device =
        machine.gpus.gpus.size() == 1 ? "cuda" : fmt::format("cuda {}", index);
    for (const auto& [ending, precision] : {std::pair{"", Precision::kF32},
                                            {" tf32", Precision::kTf32},
                                            {" bf16", Precision::kBf16}}) {
      backends.push_back({device + ending, device, precision,
                          [index, precision] { return OnGpu(index, precision); }});
    }
  }
  return backends;
}

std::vector<OpRow> Examine(const std::vector<BackendToCheck>& backends) {
  // Devices work at the same time, the backends of one device one after the other.
  std::vector<std::vector<OpRow>> found(backends.size());
  std::map<std::string, std::vector<std::size_t>> of_device;
  for (std::size_t i = 0; i < backends.size(); ++i) of_device[backends[i].device].push_back(i);
  std::vector<std::future<void>> devices;
  for (const auto& [device, indices] : of_device) {
    devices.push_back(std::async(std::launch::async, [&found, &backends, &indices] {
      for (const std::size_t i : indices) found[i] = ExamineOne(backends[i]);
    }));
  }
  for (std::future<void>& device : devices) device.get();
  std::vector<OpRow> rows;
  for (const std::vector<OpRow>& of_one : found)
    rows.insert(rows.end(), of_one.begin(), of_one.end());
  return rows;
}

}  // namespace starling::doctor
