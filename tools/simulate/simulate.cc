#include "tools/simulate/simulate.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>

#include "core/clock.h"
#include "core/config/config_rules.h"
#include "core/denormals.h"
#include "core/error.h"
#include "core/instructions.h"
#include "core/process.h"
#include "core/text.h"
#include "fleet/run_log.h"
#include "monitor/console.h"
#include "results/initial_net.h"
#include "results/run_dir.h"
#include "results/summary.h"
#include "tools/simulate/expected_staleness.h"
#include "tools/simulate/simulator.h"
#include "tools/simulate/virtual_learner.h"

namespace starling::simulate {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kLookMs = 50;  // between two checks for signals and updates of the screen

struct Plan {
  Config config;
  fs::path run_dir;
  std::vector<std::string> said;  // lines about its times and instructions
};

// Returns the keys of [simulate] given by --set: --times-from does not replace their values.
std::vector<std::string> TimesThatWereSet(const ConfigSource& source) {
  std::vector<std::string> keys;
  for (const auto& [key, where] : source.where) {
    if (key.starts_with("simulate.") && where.starts_with("--set")) keys.push_back(key);
  }
  return keys;
}

Plan MakePlan(const SimulateOptions& options) {
  ConfigSource source;
  Plan plan{LoadConfig(options.config, options.overrides, &source, CheckSimulation), {}, {}};
  Config& config = plan.config;
  results::ResolveFirstWeights(config);
  if (options.times_from) {
    plan.said = TakeTimes(*options.times_from, TimesThatWereSet(source), config);
  }
  SettleSimulation(config);
  if (const auto expected = ExpectedStaleness(config); expected && !config.staleness.delayed()) {
    plan.said.push_back(fmt::format(
        "by the times of [simulate], gradients will be about {:.1f} updates old on average",
        *expected));
  }
  if (const std::string others = OtherInstructions(config.actors.instructions); !others.empty()) {
    plan.said.push_back(others + ", so this seed gives other returns than with those");
  }
  const bool named = options.run_dir || !source.Where("run.dir").empty();
  plan.run_dir = results::CreateRunDir(options.run_dir.value_or(config.run.dir), !named);
  config.run.dir = plan.run_dir.string();
  return plan;
}

std::string Headline(const Plan& plan, int threads) {
  const Config& config = plan.config;
  return fmt::format(
      "simulating {} in {}: {}, {} steps, in {}", config.env.name, plan.run_dir.string(),
      Plural(static_cast<std::size_t>(config.actors.count), "actor"), Grouped(config.run.steps),
      Plural(static_cast<std::size_t>(threads), "thread"));
}

bool StopAsked(int stop_fd) {
  pollfd item{stop_fd, POLLIN, 0};
  return ::poll(&item, 1, 0) > 0;
}

void LogAll(const std::vector<std::string>& problems, fleet::RunLog& log) {
  for (const std::string& problem : problems) log.Log(LogLevel::kError, problem);
}

// Runs until the end or the operator's stop. Returns whether it reached the end.
bool RunToItsEnd(const Config& config, VirtualLearner& learner, Simulator& simulator, int stop_fd,
                 fleet::RunLog& log, monitor::Console& console) {
  const SteadyClock clock;
  monitor::RateMeter rate;  // in real time, for the estimate of the remaining time
  std::int64_t looked_ms = 0;
  while (simulator.Step()) {
    const std::int64_t now = clock.NowMs();
    if (now - looked_ms < kLookMs) continue;
    looked_ms = now;
    if (StopAsked(stop_fd)) simulator.Stop();
    LogAll(learner.TakeErrors(), log);
    const learner::RunStatus status = learner.Status();
    rate.Add(now, status.steps);
    console.Show(monitor::MakeProgress(status, learner::GoalOf(config), rate.PerSecond(),
                                       static_cast<int>(config.actors.count)),
                 now);
  }
  console.Clear();
  return learner.over();
}

int SumUp(const Plan& plan, const VirtualLearner& learner, int exit_status,
          const std::string& error, double real_s, const SimulateOptions& options,
          fleet::RunLog& log, monitor::Console& console) {
  // 1. Write the summary.
  const learner::RunStatus status = learner.Status();
  const auto actors = static_cast<std::uint64_t>(plan.config.actors.count);
  auto summary = results::BuildSummary(plan.config, status, {.actors_started = actors}, {}, error);
  summary.simulated = true;
  summary.instructions = NameOf(InstructionsFor(plan.config.actors.instructions));
  const std::string problem = results::WriteSummary(plan.run_dir, summary);
  // 2. Print it. A summary that could not be written fails the command.
  console.Print(fmt::format("simulated {:.4g} s in {:.4g} s; what follows is of virtual time",
                            status.seconds, real_s));
  for (const std::string& line :
       results::DescribeRun(summary, exit_status, plan.run_dir, options.program)) {
    console.Print(line);
  }
  if (problem.empty()) return exit_status;
  log.Log(LogLevel::kError, "no summary: " + problem);
  return exit_status == kExitDone ? kExitFailed : exit_status;
}

}  // namespace

int RunSimulate(const SimulateOptions& options) {
  // 1. Prepare the run directory, log and console.
  const Plan plan = MakePlan(options);
  const Config& config = plan.config;
  const int stop_fd = CatchStopSignals();
  monitor::Console console(STDERR_FILENO, monitor::DetectStyle(STDERR_FILENO));
  fleet::RunLog log(plan.run_dir, console);
  results::MarkSimulated(plan.run_dir, "simulate");
  results::WriteConfig(plan.run_dir, config);
  const int threads = static_cast<int>(std::min(UsableCores(), config.actors.count));
  const std::string headline = Headline(plan, threads);
  log.Log(LogLevel::kInfo, headline);
  console.Print(headline);
  for (const std::string& line : plan.said) {
    log.Log(LogLevel::kInfo, line);
    console.Print(line);
  }

  // 2. Simulate. The simulator's threads end before the learner does.
  FlushDenormals();
  const SteadyClock clock;
  const std::int64_t begin = clock.NowNs();
  VirtualLearner learner(config, results::InitialNetOf(config), plan.run_dir);
  bool over = false;
  {
    Simulator simulator(config, learner, threads);
    over = RunToItsEnd(config, learner, simulator, stop_fd, log, console);
    learner.SetTime(simulator.Time());
  }
  // 3. Save and sum up.
  int exit_status = over ? kExitDone : kExitInterrupted;
  if (!learner.End()) exit_status = kExitFailed;
  const std::vector<std::string> errors = learner.TakeErrors();
  LogAll(errors, log);
  const std::string error = exit_status != kExitFailed ? ""
                            : errors.empty()           ? "the simulation failed"
                                                       : errors.back();
  return SumUp(plan, learner, exit_status, error, static_cast<double>(clock.NowNs() - begin) / 1e9,
               options, log, console);
}

}  // namespace starling::simulate
