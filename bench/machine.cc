#include "bench/machine.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/sysinfo.h>

#include <fstream>

#include "core/version.h"

namespace starling::bench {
namespace {

// "model name : AMD EPYC 9R14" of the first processor.
std::string ProcessorName() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with("model name")) continue;
    const std::size_t begin = line.find_first_not_of(" \t", line.find(':') + 1);
    if (begin != std::string::npos) return line.substr(begin);
  }
  return "an unnamed processor";
}

int Cores() {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return ::get_nprocs();
}

double MemoryGb() {
  struct sysinfo info {};
  if (::sysinfo(&info) != 0) return 0;
  return static_cast<double>(info.totalram) * info.mem_unit / 1e9;
}

}  // namespace

std::string HardwareLine() {
  return fmt::format("{}, {} cores, {:.0f} GB of memory; {}", ProcessorName(), Cores(), MemoryGb(),
                     VersionLine("starling"));
}

}  // namespace starling::bench
