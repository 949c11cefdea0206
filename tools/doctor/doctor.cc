#include "tools/doctor/doctor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <future>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "core/error.h"

namespace starling::doctor {
namespace {

// Below these limits common runs may fail: the actors of a large node; three snapshots of the atari
// net's weights and the gradients of some tens of actors.
constexpr std::uint64_t kFewActors = 250, kLittleSharedMemory = 256'000'000;

std::string Gb(std::uint64_t bytes) {
  return fmt::format("{:.1f} GB", static_cast<double>(bytes) / 1e9);
}

std::string OrElse(const Search& search) {
  return search.found.empty() ? "none: " + search.why_none : search.found;
}

std::string Line(const char* what, const std::string& text) {
  return fmt::format("{:<15}{}\n", what, text);
}

std::string GpuLines(const GpuSearch& found) {
  if (found.gpus.empty()) return Line("GPU", "none: " + found.why_none);
  std::string text;
  for (std::size_t i = 0; i < found.gpus.size(); ++i) {
    const GpuInfo& gpu = found.gpus[i];
    text += Line(i == 0 ? "GPU" : "",
                 fmt::format("{}: {}, {}, compute capability {}.{}, {} multiprocessors", i,
                             gpu.name, Gb(gpu.memory), gpu.major, gpu.minor, gpu.multiprocessors));
  }
  return text;
}

std::string MachineText(const Machine& m) {
  std::string text = m.program + "\n\n";
  text +=
      Line("processor", fmt::format("{}, {} cores to use{}{}", m.processor, m.cores,
                                    m.features.empty() ? "" : ", ", fmt::join(m.features, " ")));
  text += Line("memory", Gb(m.memory));
  text += GpuLines(m.gpus);
  if (!m.gpus.driver.empty()) text += Line("driver", m.gpus.driver);
  text += Line("open files", fmt::format("{}, at most {}: enough for {} actors", m.open_files,
                                         m.max_open_files, MaxActors(m)));
  text += Line("shared memory", m.runtime_dir.found.empty()
                                    ? OrElse(m.runtime_dir)
                                    : fmt::format("{}, {}, {} of it free", m.runtime_dir.found,
                                                  Gb(m.shared_memory), Gb(m.free_shared_memory)));
  text += Line("Python", OrElse(m.python));
  text += Line("Gymnasium", m.gymnasium.empty() ? "none" : m.gymnasium);
  text += Line("MPI", OrElse(m.mpi));
  return text;
}

std::string OpLine(const OpRow& row) {
  const std::string found = !row.failure.empty()
                                ? "FAILED: " + row.failure
                                : fmt::format("{} {:.1e} of {:g}", row.ok() ? "ok" : "WRONG",
                                              row.found.error, row.found.tolerance) +
                                      (row.ok() ? "" : ", " + row.found.where);
  return fmt::format("{:<12}{:<26}{}\n", row.backend, row.found.op, found);
}

nlohmann::ordered_json MachineJson(const Machine& m) {
  // The keys of the text's lines, in their order; GPUs are a list.
  nlohmann::ordered_json json{{"program", m.program},
                              {"processor", m.processor},
                              {"features", m.features},
                              {"bf16", m.bf16},
                              {"cores", m.cores},
                              {"memory_bytes", m.memory},
                              {"gpus", nlohmann::json::array()},
                              {"why_no_gpu", m.gpus.why_none},
                              {"driver", m.gpus.driver},
                              {"open_files", m.open_files},
                              {"most_open_files", m.max_open_files},
                              {"most_actors", MaxActors(m)},
                              {"runtime_dir", m.runtime_dir.found},
                              {"shared_memory_bytes", m.shared_memory},
                              {"free_shared_memory_bytes", m.free_shared_memory},
                              {"python", m.python.found},
                              {"gymnasium", m.gymnasium},
                              {"mpi", m.mpi.found}};
  for (const GpuInfo& gpu : m.gpus.gpus) {
    json["gpus"].push_back({{"name", gpu.name},
                            {"memory_bytes", gpu.memory},
                            {"compute_capability", fmt::format("{}.{}", gpu.major, gpu.minor)},
                            {"multiprocessors", gpu.multiprocessors}});
  }
  return json;
}

// Adds the parts that the machine lacks.
void AddMissing(const Machine& m, std::vector<std::string>& missing) {
  if (m.gpus.gpus.empty()) {
    missing.push_back(
        "For actors on a GPU (only actors.backend = \"cpu\" works here): " + m.gpus.why_none + ".");
  }
  if (!m.bf16) {
    missing.emplace_back(
        "For net.precision = \"bf16\" on the processor: avx512_bf16 or amx_bf16; leave it at "
        "\"f32\".");
  }
  if (MaxActors(m) < kFewActors) {
    missing.push_back(fmt::format(
        "For more than {} actors: open files; raise the hard limit (ulimit -Hn 65536 as root, "
        "LimitNOFILE of a service, --ulimit nofile=65536 of a container).",
        MaxActors(m)));
  }
  if (m.runtime_dir.found.empty()) {
    missing.push_back(
        "For any run: a place for sockets and shared memory: " + m.runtime_dir.why_none + ".");
  } else if (m.free_shared_memory < kLittleSharedMemory) {
    missing.push_back(fmt::format(
        "For large nets and many actors: shared memory; only {:.0f} MB are free at {}: start a "
        "container with --shm-size=1g, or set wire.runtime_dir to a place with more.",
        static_cast<double>(m.free_shared_memory) / 1e6, m.runtime_dir.found));
  }
  if (m.python.found.empty()) {
    missing.push_back("For Gymnasium and Atari (gym:..., ale:...): Python: " + m.python.why_none +
                      ".");
  } else if (m.gymnasium.empty()) {
    missing.push_back(
        fmt::format("For Gymnasium and Atari (gym:..., ale:...): {} does not seem to have it; run "
                    "scripts/setup --gym, or name another interpreter by env.python.",
                    m.python.found));
  }
  if (m.mpi.found.empty()) {
    missing.push_back("For runs without a learner: " + m.mpi.why_none + ".");
  }
}

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

bool Diagnosis::ok() const { return std::ranges::all_of(rows, &OpRow::ok); }

std::vector<std::string> MissingParts(const Diagnosis& diagnosis) {
  std::vector<std::string> missing;
  std::set<std::string> broken;
  for (const OpRow& row : diagnosis.rows) {
    if (!row.ok()) broken.insert(row.backend);
  }
  if (!broken.empty()) {
    missing.push_back(fmt::format(
        "For trust in the results: {} must agree with the reference. Do not train with it; "
        "build again on this machine, and if that does not help, suspect driver or hardware.",
        fmt::join(broken, ", ")));
  }
  AddMissing(diagnosis.machine, missing);
  return missing;
}

std::string ToText(const Diagnosis& diagnosis) {
  std::string text = MachineText(diagnosis.machine);
  text += "\nEach op beside the reference: its largest error, relative, and the tolerance\n";
  for (const OpRow& row : diagnosis.rows) text += OpLine(row);
  const std::vector<std::string> missing = MissingParts(diagnosis);
  text += missing.empty() ? "\nNothing is missing.\n" : "\nWhat is missing\n";
  for (const std::string& sentence : missing) text += "- " + sentence + "\n";
  return text;
}

std::string ToJson(const Diagnosis& diagnosis) {
  nlohmann::ordered_json ops = nlohmann::json::array();
  for (const OpRow& row : diagnosis.rows) {
    ops.push_back({{"backend", row.backend},
                   {"op", row.found.op},
                   {"ok", row.ok()},
                   {"error", row.found.error},
                   {"tolerance", row.found.tolerance},
                   {"where", row.found.where},
                   {"problem", row.failure}});
  }
  const nlohmann::ordered_json json{{"ok", diagnosis.ok()},
                                    {"machine", MachineJson(diagnosis.machine)},
                                    {"ops", std::move(ops)},
                                    {"missing", MissingParts(diagnosis)}};
  // Names from the system may not be UTF-8.
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

int Print(const Diagnosis& diagnosis, const DoctorOptions& options) {
  std::fputs((options.json ? ToJson(diagnosis) : ToText(diagnosis)).c_str(), stdout);
  return diagnosis.ok() ? kExitDone : kExitFailed;
}

int RunDoctor(const DoctorOptions& options) {
  Diagnosis diagnosis{.machine = InspectMachine(), .rows = {}};
  diagnosis.rows = Examine(Backends(diagnosis.machine));
  return Print(diagnosis, options);
}

}  // namespace starling::doctor
