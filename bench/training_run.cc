#include "bench/training_run.h"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <system_error>

#include "bench/stats.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/file.h"
#include "learner/apply/optimizer.h"
#include "results/eval_results.h"
#include "results/initial_net.h"
#include "results/summary.h"
#include "tools/sweep/grid.h"
#include "tools/sweep/sweep.h"
#include "wire/snapshot.h"

namespace starling::bench {
namespace {

namespace fs = std::filesystem;
using sweep::Job;

constexpr int kTickMs = 10;               // between two checks of a running child
constexpr std::int64_t kGraceMs = 8'000;  // from SIGTERM to SIGKILL

// CPU time of the children that have ended and of their descendants.
double CpuSecondsOfChildren() {
  rusage usage{};
  ::getrusage(RUSAGE_CHILDREN, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// A line of /proc/PID/status in kB.
std::optional<double> MemoryMb(int pid, const std::string& line) {
  std::ifstream status(fmt::format("/proc/{}/status", pid));
  std::string word;
  while (status >> word && word != line) continue;
  double kb = 0;
  return status >> kb ? std::optional(kb * 1024 / 1e6) : std::nullopt;
}

// The end of a text that may be long.
std::string Ending(const std::string& text) {
  constexpr std::size_t kShown = 3000;
  return text.size() <= kShown ? text : "..." + text.substr(text.size() - kShown);
}

// The last lines of a failed run's log, whose directory is removed next.
std::string EndOfLog(const fs::path& run_dir) {
  try {
    return "\nthe end of its log:\n" + Ending(ReadFile(run_dir / "log"));
  } catch (const std::system_error&) {
    return "";
  }
}

// Waits up to a tick for output or the end of the child. Returns its exit, or nullopt while it
// runs. Throws Interrupted if `stop_fd` is readable and the child has not ended.
std::optional<ChildExit> Wait(Job& job, int stop_fd) {
  // Once all output has arrived, only the exit is missing: check every millisecond.
  std::array<pollfd, 2> items{pollfd{job.output_fd(), POLLIN, 0}, pollfd{stop_fd, POLLIN, 0}};
  ::poll(items.data(), items.size(), job.output_fd() < 0 ? 1 : kTickMs);
  job.Read();
  std::optional<ChildExit> exit = job.Reap();
  if (!exit && items[1].revents != 0) throw Interrupted();
  return exit;
}

// Asks the child to end, and waits for it. The destructor of `job` kills one that does not.
void Terminate(Job& job) {
  job.Signal(SIGTERM);
  const SteadyClock clock;
  for (const std::int64_t begin = clock.NowMs(); clock.NowMs() - begin < kGraceMs;) {
    if (Wait(job, -1)) return;
  }
}

}  // namespace

void ThrowIfInterrupted(int stop_fd) {
  pollfd item{stop_fd, POLLIN, 0};
  if (::poll(&item, 1, 0) > 0) throw Interrupted();
}

std::vector<std::string> RunChild(const ChildCall& call) {
  const std::string name = call.program.filename().string();
  const SteadyClock clock;
  const std::int64_t begin = clock.NowNs();
  Job job(call.program, call.arguments);
  const auto fail = [&](const std::string& why) {
    throw std::runtime_error(fmt::format("{} {}:\n{}", name, why,
                                         Ending(fmt::format("{}", fmt::join(job.said(), "\n")))));
  };
  std::optional<ChildExit> exit;
  try {
    while (!(exit = Wait(job, call.stop_fd))) {
      if (call.watch) call.watch();
      if (static_cast<double>(clock.NowNs() - begin) / 1e9 < call.timeout_s) continue;
      fail(fmt::format("was not done within {:.0f} s", call.timeout_s));
    }
  } catch (...) {
    Terminate(job);
    throw;
  }
  const bool exited = exit->how == ChildExit::How::kExited;
  if (!exited || std::ranges::count(call.statuses, exit->code) == 0) fail(Describe(*exit));
  return job.said();
}

Scratch::~Scratch() {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

std::string BoundText(std::uint64_t bound) {
  return bound == kUnbounded ? "unbounded" : fmt::format("{}", bound);
}

TrainingRun::TrainingRun(const Site& site, const TrainingPlan& plan)
    : dir_(site.scratch / plan.name) {
  // 1. Compose the command line.
  Tell(plan.name);
  ChildCall call{
      .program = site.programs / "starling",
      .arguments = {plan.command, (plan.config.empty() ? site.config : plan.config).string(),
                    "--run-dir", dir().string()},
      .timeout_s = plan.timeout_s,
      .stop_fd = site.stop_fd,
      .watch = plan.watch};
  for (const std::string& setting : plan.overrides) {
    call.arguments.insert(call.arguments.end(), {"--set", setting});
  }
  call.arguments.insert(call.arguments.end(), plan.words.begin(), plan.words.end());
  // 2. Run it. A failure takes the end of the log along, because the directory is removed.
  started_ns = std::chrono::system_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
  const double cpu_before = CpuSecondsOfChildren();
  try {
    seconds = TimeNs([&] { RunChild(call); }) / 1e9;
    cpu_seconds = CpuSecondsOfChildren() - cpu_before;
    ReadSummary();
  } catch (const Interrupted&) {
    throw;
  } catch (const std::exception& error) {
    throw std::runtime_error(fmt::format("{}: {}{}", plan.name, error.what(), EndOfLog(dir())));
  }
}

void TrainingRun::ReadSummary() {
  const std::optional<results::RunResult> result = results::ReadSummary(dir());
  if (!result) throw std::runtime_error("summary.json is missing or damaged");
  status = result->training;
  summary = Json::parse(ReadFile(dir() / "summary.json"));
  if (summary.at("actors").at("restarted") != 0 || summary.at("learner").at("restarted") != 0) {
    throw std::runtime_error("a process died and was replaced");
  }
}

std::vector<results::MetricPoint> TrainingRun::Metrics() const {
  int damaged = 0;
  return results::ParseMetrics(ReadFile(dir() / "metrics.jsonl"), damaged);
}

double TrainingRun::SteadyRate() const {
  constexpr double kMinSeconds = 2;
  const std::vector<results::MetricPoint> metrics = Metrics();
  const auto first = std::ranges::find_if(metrics, [&](const results::MetricPoint& point) {
    return point.steps >= static_cast<double>(status.steps) / 4;
  });
  if (first == metrics.end() || metrics.back().seconds - first->seconds < kMinSeconds) {
    return status.steps_per_second;
  }
  return (metrics.back().steps - first->steps) / (metrics.back().seconds - first->seconds);
}

double TrainingRun::UpdatesPerSecond() const {
  return status.seconds > 0 ? static_cast<double>(status.updates) / status.seconds : 0;
}

Json TrainingRun::Numbers() const {
  return {
      {"steps", status.steps},
      {"steps_per_second", status.steps_per_second},
      {"updates", status.updates},
      {"updates_per_second", UpdatesPerSecond()},
      {"mean_staleness", status.staleness.mean},
      {"max_staleness", status.staleness.max},
      {"applied", status.gradients.applied},
      {"dropped", status.gradients.dropped_total()},
      // of all processes over the whole run
      {"cpu_ms_per_gradient", 1000 * cpu_seconds / static_cast<double>(status.gradients.applied)}};
}

void ForEachRun(const Site& site, const GridPlan& plan,
                const std::function<void(const Config&, const TrainingRun&)>& use) {
  const fs::path file = site.config.parent_path() / "grids" / plan.file;
  const sweep::Grid grid = sweep::ReadGrid(file);
  for (const std::uint64_t seed : grid.seeds) {
    for (const sweep::GridPoint& point : grid.points) {
      // 1. The point's configuration with the extent of this bench.
      Config config = point.config;
      const std::int64_t actors = config.actors.count;
      const bool varies = std::ranges::count(point.varied, "actors.count",
                                             [](const auto& key) { return key.first; }) > 0;
      if (site.quick && varies && actors != 1 && actors != 4) continue;
      config.run.seed = seed;
      if (site.quick) config.run.steps = plan.quick_steps;
      if (plan.steps_per_actor) config.run.steps *= static_cast<std::uint64_t>(actors);
      // 2. A run of it.
      const fs::path written = site.scratch / "point.toml";
      WriteFileAtomically(written, ToToml(config));
      const TrainingRun run(
          site, {.name = fmt::format("{}-{}-seed-{}", file.stem().string(), point.name, seed),
                 .timeout_s = plan.timeout_s,
                 .config = written});
      use(config, run);
    }
  }
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

LearnerVectors LearnerVectorsOf(const Config& config) {
  const auto slots = static_cast<double>(
      learner::MakeOptimizerSpec(config.optimizer, config.staleness).slots.size());
  const auto buffers = static_cast<double>(config.actors.count * config.updates.in_flight);
  return {.state = static_cast<double>(wire::kSnapshotSlots) + 1 + slots,
          .gradients = buffers + 2 * (1 + slots)};
}

std::optional<double> PeakMb(int pid) { return MemoryMb(pid, "VmHWM:"); }
std::optional<double> ResidentMb(int pid) { return MemoryMb(pid, "VmRSS:"); }

double Evaluate(const Site& site, const TrainingRun& run, int episodes) {
  const std::vector<std::string> said =
      RunChild({.program = site.programs / "starling",
                .arguments = {"eval", run.dir().string(), "--episodes", fmt::format("{}", episodes),
                              "--json"},
                .timeout_s = 300,
                .stop_fd = site.stop_fd});
  for (const std::string& line : said) {  // the others are log lines
    if (const auto eval = results::ParseEvalOutput(line, "")) return eval->mean_return;
  }
  throw std::runtime_error(fmt::format("no mean_return in the output:\n{}", fmt::join(said, "\n")));
}

bool HasRanks(const Site& site) {
  return !FindProgram("mpirun").empty() && fs::exists(site.programs / "starling-rank");
}

void Tell(const std::string& line) { std::fprintf(stderr, "bench: %s\n", line.c_str()); }

}  // namespace starling::bench
