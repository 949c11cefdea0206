#include "tools/doctor/doctor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>
#include <thread>
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

// The lines of the checks, with a heading over each kind.
class CheckLines {
 public:
  explicit CheckLines(const std::vector<CheckGroup>& groups) {
    for (const CheckGroup& group : groups) {
      std::size_t& width = widths_[group.kind];
      width = std::max(width, kStart.size());
      for (const Check& check : group.checks) width = std::max(width, check.what.size());
    }
  }

  std::string Next(const Row& row) {
    const bool first = std::exchange(kind_, row.kind) != row.kind;
    const std::string found = !row.failure.empty() ? "FAILED: " + row.failure
                              : row.verdict.agrees ? "ok " + row.verdict.text
                                                   : "WRONG " + row.verdict.text;
    return fmt::format("{}{:<12}{:<{}}  {}\n", first ? Heading(row.kind) : "", row.device, row.what,
                       widths_[row.kind], found);
  }

 private:
  static constexpr std::string_view kStart = "start";

  static std::string Heading(const std::string& kind) {
    const char* const what =
        kind == "ops"     ? "beside the reference: the largest error, relative, and the tolerance"
        : kind == "games" ? "on a GPU beside the same on the host"
                          : "unrolls with their gradients: the largest error, relative, and the "
                            "tolerance";
    return fmt::format("\n{}, {}\n", kind, what);
  }

  std::map<std::string, std::size_t> widths_;  // of the column of names, for each kind
  std::string kind_;                           // of the last line
};

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
        fmt::format("For Gymnasium and Atari (gym:..., ale:...): {} does not seem to have it: name "
                    "one that has by env.python (pip install gymnasium ale-py; from source, "
                    "scripts/setup --gym).",
                    m.python.found));
  }
  if (m.mpi.found.empty()) {
    missing.push_back("For runs without a learner: " + m.mpi.why_none + ".");
  }
}

std::string MissingText(const Diagnosis& diagnosis) {
  const std::vector<std::string> missing = MissingParts(diagnosis);
  std::string text = missing.empty() ? "\nNothing is missing.\n" : "\nWhat is missing\n";
  for (const std::string& sentence : missing) text += "- " + sentence + "\n";
  return text;
}

void Say(const std::string& text, std::FILE* to = stdout) {
  std::fputs(text.c_str(), to);
  std::fflush(to);
}

// The machine, if its driver answers in time; a driver that hangs cannot be ended.
std::optional<Machine> InspectWithin(int limit_s) {
  std::packaged_task<Machine()> inspect(InspectMachine);
  std::future<Machine> machine = inspect.get_future();
  std::thread thread(std::move(inspect));
  if (machine.wait_for(std::chrono::seconds(limit_s)) != std::future_status::ready) {
    thread.detach();
    return std::nullopt;
  }
  thread.join();
  return machine.get();
}

}  // namespace

bool Diagnosis::ok() const {
  return std::ranges::all_of(rows, &Row::ok) && !(wants_gpu && machine.gpus.gpus.empty());
}

std::vector<std::string> MissingParts(const Diagnosis& diagnosis) {
  std::vector<std::string> missing;
  std::set<std::string> broken;
  for (const Row& row : diagnosis.rows) {
    if (!row.ok()) broken.insert(row.device);
  }
  if (!broken.empty()) {
    missing.push_back(fmt::format(
        "For trust in the results: every check of {} must agree; until then do not train with it. "
        "If no line above names a remedy, build again on this machine, then suspect driver or "
        "hardware.",
        fmt::join(broken, ", ")));
  }
  AddMissing(diagnosis.machine, missing);
  return missing;
}

std::string ToJson(const Diagnosis& diagnosis) {
  nlohmann::ordered_json checks = nlohmann::json::array();
  for (const Row& row : diagnosis.rows) {
    checks.push_back({{"kind", row.kind},
                      {"device", row.device},
                      {"what", row.what},
                      {"ok", row.ok()},
                      {"text", row.verdict.text},
                      {"problem", row.failure},
                      {"seconds", row.seconds}});
    if (!row.verdict.numbers.is_null()) checks.back().update(row.verdict.numbers);
  }
  const nlohmann::ordered_json json{{"ok", diagnosis.ok()},
                                    {"machine", MachineJson(diagnosis.machine)},
                                    {"checks", std::move(checks)},
                                    {"missing", MissingParts(diagnosis)}};
  // Names from the system may not be UTF-8.
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

Diagnosed Diagnose(const Machine& machine, std::vector<CheckGroup> groups,
                   const DoctorOptions& options) {
  Diagnosis diagnosis{.machine = machine, .wants_gpu = options.gpu};
  CheckLines lines(groups);
  // A check that aborts is the one after the last line.
  std::FILE* const progress = options.json ? stderr : stdout;
  if (!options.json) Say(MachineText(machine));
  std::thread hanging = RunChecks(std::move(groups), options.limit_s, [&](const Row& row) {
    Say(lines.Next(row), progress);
    diagnosis.rows.push_back(row);
  });
  Say(options.json ? ToJson(diagnosis) : MissingText(diagnosis));
  return {.status = diagnosis.ok() ? kExitDone : kExitFailed, .hanging = std::move(hanging)};
}

int RunDoctor(const DoctorOptions& options) {
  const std::optional<Machine> found = InspectWithin(options.limit_s);
  if (!found) {
    std::fprintf(stderr,
                 "doctor: this machine has not told what it has in %d s (--limit): most likely the "
                 "GPU's driver hangs; try nvidia-smi, or reboot\n",
                 options.limit_s);
    std::_Exit(kExitFailed);
  }
  const Machine& machine = *found;
  std::vector<CheckGroup> groups;
  if (!options.gpu || GpuCount(machine) > 0) {
    groups = ChecksOf(machine, options.full ? Sizes::kLarge : Sizes::kSmall);
    groups = Only(options.only, std::move(groups));
  }
  const Diagnosed diagnosed = Diagnose(machine, std::move(groups), options);
  if (diagnosed.hanging.joinable()) std::_Exit(diagnosed.status);  // nothing can be tidied up
  return diagnosed.status;
}

}  // namespace starling::doctor
