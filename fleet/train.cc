#include "fleet/train.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <system_error>
#include <utility>

#include "core/config/config.h"
#include "core/error.h"
#include "core/file.h"
#include "core/process.h"
#include "core/text.h"
#include "fleet/pages_process.h"
#include "fleet/run_log.h"
#include "fleet/stop_signals.h"
#include "fleet/supervisor.h"
#include "fleet/train_plan.h"
#include "learner/run_goal.h"
#include "monitor/console.h"
#include "monitor/http/status_server.h"
#include "results/eval_results.h"
#include "results/run_dir.h"
#include "results/summary.h"
#include "wire/runtime_dir.h"

namespace starling::fleet {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kOwnActorGraceMs = 3000;

// Returns a sentence that says that the resumed run is complete, or "" if it is not.
std::string IfComplete(const Plan& plan) {
  if (!plan.resume) return "";
  const std::optional<results::RunResult> earlier = results::ReadSummary(plan.run_dir);
  if (!earlier) return "";
  const learner::RunStatus& status = earlier->training;
  const learner::RunGoal goal = learner::GoalOf(plan.config);
  const std::uint64_t steps = std::min(goal.steps, status.steps);
  if (!goal.Reached(status) || !results::IsCheckpointOf(plan.run_dir / status.checkpoint, steps)) {
    return "";
  }
  if (status.steps >= goal.steps) {
    return fmt::format("{} is complete ({} steps); to go on, raise --set run.steps=...",
                       plan.run_dir.string(), Grouped(status.steps));
  }
  return fmt::format(
      "{} is complete ({}); to go on, raise --set run.until_return=... or set it to "
      "\"never\"",
      plan.run_dir.string(), goal.Describe(status));
}

// Removes the files that killed learners left behind, this run's included.
void RemoveLeftovers(const Config& config, RunLog& log) {
  try {
    const fs::path root = wire::RuntimeRoot(config.wire.runtime_dir);
    if (wire::RuntimeDir::RemoveStale(root) > 0) {
      log.Log(LogLevel::kInfo,
              fmt::format("removed what processes that were killed left in {}", root.string()));
    }
  } catch (const std::exception& error) {
    log.Log(LogLevel::kWarn,
            fmt::format("the runtime directory could not be cleaned: {}", error.what()));
  }
}

// Returns the directory of Open MPI's files, which lasts as long as this process. The next start
// removes that of a killed process.
std::optional<wire::RuntimeDir> HoldMpiFiles(Plan& plan) {
  if (plan.learner.has_actors) return std::nullopt;
  std::optional<wire::RuntimeDir> dir = wire::RuntimeDir::Create(
      wire::RuntimeRoot(plan.config.wire.runtime_dir), plan.run_dir / "mpi");
  KeepMpiFilesIn(dir->path(), plan.learner);
  return dir;
}

// An actor gets the way to its learner, and the time to wait for it, from its command line.
std::vector<std::string> ActorArguments(const Config& config) {
  std::vector<std::string> arguments = {"--connect-timeout",
                                        fmt::format("{}", config.wire.connect_timeout_s)};
  if (!config.wire.runtime_dir.empty()) {
    arguments.insert(arguments.end(), {"--runtime-dir", config.wire.runtime_dir});
  }
  return arguments;
}

// A program of the user's may have something to save when the run ends.
PolicyLimits LimitsOf(const Config& config) {
  PolicyLimits limits{.needs_every_slot = config.staleness.bound == 0};
  if (config.net.external()) limits.actor_grace_ms = limits.actor_term_ms = kOwnActorGraceMs;
  return limits;
}

std::optional<ChildSpec> PagesFor(const Plan& plan) {
  if (plan.config.status.port == 0) return std::nullopt;
  return PagesOf(plan.config.status, plan.run_dir);
}

std::string PageAddress(const StatusConfig& status) {
  const bool every = status.bind == "0.0.0.0" || status.bind == "::";
  return fmt::format("http://{}/", monitor::AddressText(every ? HostName() : status.bind,
                                                        static_cast<std::uint16_t>(status.port)));
}

std::string Headline(const Plan& plan, bool no_actors) {
  const RunConfig& run = plan.config.run;
  const bool given = !plan.resume && !run.init_from.empty();
  const bool unnamed = plan.config.net.external() && plan.config.env.name == kExternalEnv;
  return fmt::format("{} {} in {}: {}{}, {} steps{}", plan.resume ? "going on with" : "training",
                     unnamed ? "an external net" : plan.config.env.name, plan.run_dir.string(),
                     Plural(static_cast<std::size_t>(plan.config.actors.count), "actor"),
                     no_actors ? " from elsewhere" : "", Grouped(run.steps),
                     given ? ", from the weights of " + run.init_from : "");
}

monitor::ConsoleStyle StyleFor(ShowProgress progress) {
  monitor::ConsoleStyle style = monitor::DetectStyle(STDERR_FILENO);
  style.progress = progress != ShowProgress::kNone;
  if (progress == ShowProgress::kLines) style.terminal = false;
  return style;
}

// The configuration of a run that is gone on with, while it is not sure that it goes on.
class KeptConfig {
 public:
  explicit KeptConfig(const Plan& plan) : path_(plan.run_dir / "config.toml") {
    if (plan.resume) text_ = ReadFile(path_);
  }
  void PutBack() const {
    try {
      WriteFileAtomically(path_, text_);
    } catch (const std::system_error&) {
      // Its disk is full or gone: other messages say so.
    }
  }

 private:
  fs::path path_;
  std::string text_;
};

// A resumed run whose learner never reported keeps its numbers and its configuration.
int ReportUntouched(const Plan& plan, const SupervisorResult& result, const KeptConfig& config,
                    const TrainOptions& options, monitor::Console& console) {
  config.PutBack();
  results::WriteError(plan.run_dir, result.error);
  for (const std::string& line : results::DescribeUntouched(result.error, result.exit_status,
                                                            plan.run_dir, options.program)) {
    console.Print(line);
  }
  return result.exit_status;
}

// Finds the run directory again. Returns false if it is gone: then nothing of the run is left.
bool FindAgain(const results::HeldDir& held, Plan& plan, SupervisorResult& result, RunLog& log) {
  const std::optional<fs::path> now = held.Find();
  if (now == plan.run_dir) return true;
  const std::string what =
      fmt::format("the run directory {} was {} during training: later checkpoints are lost",
                  plan.run_dir.string(), now ? "moved to " + now->string() : "deleted");
  log.Log(LogLevel::kError, what);
  if (result.error.empty()) result.error = what;
  if (result.exit_status == kExitDone) result.exit_status = kExitFailed;
  if (now) plan.run_dir = *now;
  return now.has_value();
}

int Report(const Plan& plan, const SupervisorResult& result, const TrainOptions& options,
           RunLog& log, monitor::Console& console) {
  // A learner that was killed may have written checkpoints since its last report, and removed the
  // one that it reported.
  learner::RunStatus status = result.status.value_or(learner::RunStatus{});
  std::error_code ignored;
  if (status.checkpoint.empty() || !fs::exists(plan.run_dir / status.checkpoint, ignored)) {
    const std::string newest = results::NewestCheckpoint(plan.run_dir);
    if (!newest.empty()) status.checkpoint = newest;
  }
  const results::RunSummary summary = results::BuildSummary(
      plan.config, status, result.counts, results::ReadEvalStanding(plan.run_dir), result.error);
  const std::string unwritten = results::WriteSummary(plan.run_dir, summary);
  for (const std::string& line :
       results::DescribeRun(summary, result.exit_status, plan.run_dir, options.program)) {
    console.Print(line);
  }
  if (unwritten.empty()) return result.exit_status;
  log.Log(LogLevel::kError, fmt::format("no summary: {}", unwritten));
  log.Log(LogLevel::kInfo, "the summary would have been: " + results::ToJson(summary));
  return result.exit_status == kExitDone ? kExitFailed : result.exit_status;
}

}  // namespace

int RunTrain(const TrainOptions& options) {
  // 1. Check everything before the first process.
  const fs::path actor = ProgramIn(options.programs, "starling-actor");
  Plan plan = PreparePlan(options);
  monitor::Console console(STDERR_FILENO, StyleFor(options.progress));
  if (const std::string complete = IfComplete(plan); !complete.empty()) {
    if (!plan.warning.empty()) console.Print(plan.warning);
    console.Print(complete);
    return kExitDone;
  }

  // 2. Take over the run directory.
  const StopSignalsHeld held;
  RunLog log(plan.run_dir, console);
  const results::HeldDir held_dir(plan.run_dir);
  const KeptConfig config_before(plan);
  results::RemoveTemporaries(plan.run_dir);
  plan.config.run.dir = plan.run_dir.string();
  // Before the first line of the log, so that a start that is killed is known for one.
  if (!plan.resume) results::WriteConfig(plan.run_dir, plan.config);
  if (plan.resume) results::WriteError(plan.run_dir, "");  // no failed run any more
  RemoveLeftovers(plan.config, log);
  const std::optional<wire::RuntimeDir> mpi_files = HoldMpiFiles(plan);
  const fs::path root = wire::RuntimeRoot(plan.config.wire.runtime_dir);
  const auto fleet_files = wire::RuntimeDir::Create(root, wire::RuntimeDir::FleetOf(plan.run_dir));
  if (!plan.warning.empty()) log.Log(LogLevel::kWarn, plan.warning);
  console.Print(Headline(plan, options.no_actors));
  if (const StatusConfig& status = plan.config.status; status.port != 0) {
    console.Print("its page: " + PageAddress(status));
  }

  // 3. Run, clean up and sum up.
  const monitor::RunFacts facts = monitor::FactsOf(plan.config);
  SupervisorResult result =
      Supervise({.run_dir = plan.run_dir,
                 .learner = plan.learner,
                 .actor_program = actor,
                 .redo_program = ProgramIn(options.programs, "starling"),
                 .actor_arguments = ActorArguments(plan.config),
                 .own_actor = plan.config.actors.command,
                 .own_actor_place = {.place = {.runtime_dir = plan.config.wire.runtime_dir},
                                     .connect_timeout_s = plan.config.wire.connect_timeout_s},
                 .redo_s = plan.config.checkpoint.redo_s,
                 .resume = plan.resume,
                 .before_learner =
                     [&plan] {
                       if (plan.resume) results::WriteConfig(plan.run_dir, plan.config);
                     },
                 .evaluates = plan.config.eval.every_steps > 0,
                 .pages = PagesFor(plan),
                 .fleet_status = fleet_files.path() / "status",
                 .actors = options.no_actors || !plan.learner.has_actors ? 0 : facts.actors,
                 .facts = facts,
                 .screen = options.progress == ShowProgress::kScreen,
                 .limits = LimitsOf(plan.config)},
                log, console);
  RemoveLeftovers(plan.config, log);
  if (!FindAgain(held_dir, plan, result, log)) return result.exit_status;
  results::RemoveUnfinishedBest(plan.run_dir);
  if (plan.resume && !result.status) {
    return ReportUntouched(plan, result, config_before, options, console);
  }
  return Report(plan, result, options, log, console);
}

}  // namespace starling::fleet
