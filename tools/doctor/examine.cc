#include "tools/doctor/examine.h"

#include <fmt/format.h>

#include <future>
#include <map>
#include <utility>

#include "net/gpu.h"

namespace starling::doctor {
namespace {

std::shared_ptr<net::Backend<float>> OnGpu(int index, Precision precision) {
  const std::shared_ptr<Gpu> gpu = OpenGpu(index);
  std::unique_ptr<net::Backend<float>> backend = net::MakeCudaBackend(*gpu, precision);
  // The GPU outlives what runs on it.
  return {backend.release(), [gpu](net::Backend<float>* gone) { delete gone; }};
}

OpRow Begun(const Contender& of, const char* op) {
  return {.backend = of.name, .found = net::OpError{op, 0, 0, ""}, .trouble = ""};
}

OpRow ExamineOp(const net::OpCheck& check, net::Backend<float>& backend, const Contender& of) {
  OpRow row = Begun(of, check.op);
  try {
    row.found = net::CheckOp(check, backend, of.precision);
  } catch (const std::exception& error) {
    row.trouble = error.what();
  }
  return row;
}

std::vector<OpRow> ExamineOne(const Contender& contender) {
  std::vector<OpRow> rows;
  try {
    const auto backend = contender.make();
    for (const net::OpCheck& check : net::OpChecks()) {
      rows.push_back(ExamineOp(check, *backend, contender));
    }
  } catch (const std::exception& error) {
    rows.push_back(Begun(contender, "start"));
    rows.back().trouble = error.what();
  }
  return rows;
}

}  // namespace

std::vector<Contender> Contenders(const Machine& machine) {
  std::vector<Contender> contenders;
  const auto add_cpu = [&](const char* name, Precision precision) {
    contenders.push_back(
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
      contenders.push_back({device + ending, device, precision,
                            [index, precision] { return OnGpu(index, precision); }});
    }
  }
  return contenders;
}

std::vector<OpRow> Examine(const std::vector<Contender>& contenders) {
  std::vector<std::vector<OpRow>> found(contenders.size());
  std::map<std::string, std::vector<std::size_t>> of_device;
  for (std::size_t i = 0; i < contenders.size(); ++i) of_device[contenders[i].device].push_back(i);
  std::vector<std::future<void>> devices;
  for (const auto& [device, indices] : of_device) {
    devices.push_back(std::async(std::launch::async, [&found, &contenders, &indices] {
      for (const std::size_t i : indices) found[i] = ExamineOne(contenders[i]);
    }));
  }
  for (std::future<void>& device : devices) device.get();
  std::vector<OpRow> rows;
  for (const std::vector<OpRow>& of_one : found)
    rows.insert(rows.end(), of_one.begin(), of_one.end());
  return rows;
}

}  // namespace starling::doctor
