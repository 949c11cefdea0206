#include "bench/training_run.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>

#include "bench/child.h"
#include "core/config/config.h"
#include "core/error.h"
#include "core/file.h"
#include "results/initial_net.h"

namespace starling::bench {
namespace {

namespace fs = std::filesystem;
using RunJson = nlohmann::json;

std::int64_t SystemNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

// CPU time of the children that have ended and of their descendants.
double CpuSecondsOfChildren() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Returns the last line of `output` that is a JSON object with `key`; other lines are log lines.
RunJson FindObject(const std::string& output, const std::string& key) {
  RunJson found;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    RunJson object = RunJson::parse(line, nullptr, /*allow_exceptions=*/false);
    if (object.is_object() && object.contains(key)) found = std::move(object);
  }
  if (found.is_null()) throw std::runtime_error("no \"" + key + "\" in the output:\n" + output);
  return found;
}

void RemoveAll(const fs::path& dir) {
  std::error_code ignored;
  fs::remove_all(dir, ignored);
}

// The last lines of a failed run's log, whose directory is removed next.
std::string EndOfLog(const fs::path& run_dir) {
  constexpr std::size_t kShown = 3000;
  try {
    const std::string log = ReadFile(run_dir / "log");
    return "\nthe end of its log:\n" + log.substr(log.size() - std::min(log.size(), kShown));
  } catch (const std::system_error&) {
    return "";
  }
}

}  // namespace

TrainingRun::TrainingRun(const Site& site, const TrainingPlan& plan)
    : dir_(site.scratch / plan.name) {
  // 1. Compose the command line.
  Tell(plan.name);
  ChildCall call{
      .program = site.programs / "starling",
      .arguments = {plan.command, (plan.config.empty() ? site.config : plan.config).string(),
                    "--run-dir", dir_.string()},
      .timeout_s = plan.timeout_s,
      .stop_fd = site.stop_fd,
      .watch = plan.watch};
  for (const std::string& setting : plan.overrides) {
    call.arguments.insert(call.arguments.end(), {"--set", setting});
  }
  call.arguments.insert(call.arguments.end(), plan.words.begin(), plan.words.end());
  // 2. Run it. A failure takes the end of the log along, because the directory is removed.
  started_ns = SystemNs();
  const double cpu_before = CpuSecondsOfChildren();
  try {
    seconds = RunChild(call).seconds;
    cpu_seconds = CpuSecondsOfChildren() - cpu_before;
    ReadSummary();
  } catch (const Interrupted&) {
    RemoveAll(dir_);
    throw;
  } catch (const std::exception& error) {
    const std::string log = EndOfLog(dir_);
    RemoveAll(dir_);
    throw std::runtime_error(fmt::format("{}: {}{}", plan.name, error.what(), log));
  }
}

TrainingRun::~TrainingRun() { RemoveAll(dir_); }

void TrainingRun::ReadSummary() {
  const fs::path path = dir_ / "summary.json";
  try {
    const RunJson summary = RunJson::parse(ReadFile(path));
    steps = summary.at("steps").get<std::uint64_t>();
    updates = summary.at("updates").get<std::uint64_t>();
    steps_per_second = summary.at("steps_per_second").get<double>();
    const double running = summary.at("seconds").get<double>();
    updates_per_second = running > 0 ? static_cast<double>(updates) / running : 0;
    max_staleness = summary.at("staleness").at("max").get<std::uint64_t>();
    mean_staleness = summary.at("staleness").at("mean").get<double>();
    applied = summary.at("gradients").at("applied").get<std::uint64_t>();
    for (const auto& [reason, count] : summary.at("gradients").at("dropped").items()) {
      dropped += count.get<std::uint64_t>();
    }
    final_checkpoint_ = summary.at("final_checkpoint").get<std::string>();
    if (summary.at("actors").at("restarted") != 0 || summary.at("learner").at("restarted") != 0) {
      throw std::runtime_error("a process died and was replaced");
    }
  } catch (const std::exception& error) {
    throw std::runtime_error(fmt::format("{}: {}", path.string(), error.what()));
  }
}

double TrainingRun::SteadyRate() const {
  constexpr double kMinSeconds = 2;
  const double start = static_cast<double>(steps) / 4;
  std::istringstream lines(ReadFile(dir_ / "metrics.jsonl"));
  double first_step = 0, first_s = 0, last_step = 0, last_s = 0;
  for (std::string line; std::getline(lines, line);) {
    const RunJson json = RunJson::parse(line);
    last_step = json.at("steps").get<double>();
    last_s = json.at("seconds").get<double>();
    if (first_step == 0 && last_step >= start) first_step = last_step, first_s = last_s;
  }
  if (last_s - first_s < kMinSeconds) return steps_per_second;
  return (last_step - first_step) / (last_s - first_s);
}

std::string WhyRefused(const fs::path& config, const std::vector<std::string>& overrides) {
  try {
    results::InitialNetOf(LoadConfig(config, overrides));
    return "";
  } catch (const UserError& error) {
    const std::string text = error.what();
    return text.substr(0, text.find('\n'));
  }
}

double Evaluate(const Site& site, const TrainingRun& run, int episodes) {
  const ChildReport report = RunChild({.program = site.programs / "starling",
                                       .arguments = {"eval", run.dir().string(), "--episodes",
                                                     fmt::format("{}", episodes), "--json"},
                                       .timeout_s = 300,
                                       .stop_fd = site.stop_fd,
                                       .watch = {}});
  return FindObject(report.output, "mean_return").at("mean_return").get<double>();
}

void Tell(const std::string& line) { std::fprintf(stderr, "bench: %s\n", line.c_str()); }

}  // namespace starling::bench
