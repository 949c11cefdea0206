#include "tools/doctor/machine.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include "core/child.h"
#include "core/config/config_rules.h"
#include "core/error.h"
#include "core/process.h"
#include "core/site_packages.h"
#include "core/version.h"
#include "envs/bridge/bridge.h"
#include "fleet/check_config.h"
#include "fleet/learner_command.h"
#include "net/cpu/gemm.h"
#include "wire/runtime_dir.h"

namespace starling::doctor {
namespace {

namespace fs = std::filesystem;

// Returns the value of `key` in /proc/cpuinfo, of the first processor, or "".
std::string OfProcessor(const std::string& key) {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with(key)) continue;
    const std::size_t begin = line.find_first_not_of(" \t", line.find(':') + 1);
    if (begin != std::string::npos) return line.substr(begin);
  }
  return "";
}

std::string ProcessorName() {
  const std::string name = OfProcessor("model name");
  return name.empty() ? "an unnamed processor" : name;
}

std::vector<std::string> Features() {
  std::istringstream words(OfProcessor("flags"));
  std::vector<std::string> features;
  for (std::string word; words >> word;) {
    if (std::ranges::count(kFeatures, word) > 0) features.push_back(word);
  }
  return features;
}

std::uint64_t MemoryBytes() {
  struct sysinfo info {};
  if (::sysinfo(&info) != 0) return 0;
  return std::uint64_t{info.totalram} * info.mem_unit;
}

// Returns the result of find(), or the message of its exception.
template <class Find>
Search TryFind(Find find) {
  try {
    return {.found = find(), .why_none = ""};
  } catch (const std::exception& error) {
    return {.found = "", .why_none = error.what()};
  }
}

Search Python() {
  return TryFind([] {
    std::error_code ignored;
    return FindProgram(envs::FindPython("auto", ProgramDir(), fs::current_path(ignored)));
  });
}

// Returns the version in the name of "gymnasium-1.4.0.dist-info" among the packages of the Python
// at `root`, or "".
std::string GymnasiumIn(const fs::path& root) {
  constexpr std::string_view kName = "gymnasium-", kEnd = ".dist-info";
  std::error_code ignored;
  for (const fs::path& packages : SitePackages(root)) {
    for (const auto& entry : fs::directory_iterator(packages, ignored)) {
      const std::string name = entry.path().filename().string();
      if (!name.starts_with(kName) || !name.ends_with(kEnd)) continue;
      return name.substr(kName.size(), name.size() - kName.size() - kEnd.size());
    }
  }
  return "";
}

std::string Gymnasium(const std::string& python) {
  if (python.empty()) return "";
  std::vector<fs::path> roots = {fs::path(python).parent_path().parent_path()};
  if (roots[0] == "/usr") {
    if (const char* home = std::getenv("HOME")) roots.push_back(fs::path(home) / ".local");
  }
  for (const fs::path& root : roots) {
    if (std::string version = GymnasiumIn(root); !version.empty()) return version;
  }
  return "";
}

}  // namespace

Machine InspectMachine() {
  Machine machine{.program = VersionLine("starling"),
                  .processor = ProcessorName(),
                  .features = Features(),
                  .bf16 = net::cpu::HasBf16Products(),
                  .cores = UsableCores(),
                  .memory = MemoryBytes(),
                  .gpus = FindGpus(),
                  .runtime_dir = TryFind([] { return wire::RuntimeRoot("").string(); }),
                  .python = Python(),
                  .gymnasium = "",
                  .mpi = TryFind([] { return fleet::FindMpirun(ProgramDir()).string(); })};
  // The rest depends on the results above, or may fail.
  machine.gymnasium = Gymnasium(machine.python.found);
  struct rlimit limit {};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    machine.open_files = limit.rlim_cur;
    machine.max_open_files = limit.rlim_max;
  }
  struct statvfs space {};
  if (::statvfs(machine.runtime_dir.found.c_str(), &space) == 0) {
    machine.shared_memory = std::uint64_t{space.f_blocks} * space.f_frsize;
    machine.free_shared_memory = std::uint64_t{space.f_bavail} * space.f_frsize;
  }
  return machine;
}

std::uint64_t MaxActors(const Machine& machine) { return fleet::MaxActors(machine.max_open_files); }

std::string HardwareLine(bool with_gpu) {
  std::string gpu;
  if (with_gpu) {
    const GpuSearch found = FindGpus();
    if (!found.gpus.empty()) gpu = ", " + found.gpus.front().name;
  }
  return fmt::format("{}, {} cores, {:.0f} GB of memory{}; {}", ProcessorName(), UsableCores(),
                     static_cast<double>(MemoryBytes()) / 1e9, gpu, VersionLine("starling"));
}

}  // namespace starling::doctor
