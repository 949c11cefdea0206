// starling-learner: one learner. `starling train` starts it; by hand it may start before or after
// its actors.
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/child.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/process.h"
#include "core/version.h"
#include "fleet/check_config.h"
#include "fleet/endings.h"
#include "fleet/shard_processes.h"
#include "learner/learner.h"
#include "learner/run_status.h"
#include "learner/shards/shard.h"
#include "monitor/console.h"
#include "monitor/http/status_server.h"
#include "programs/checks.h"
#include "results/eval_results.h"
#include "results/run_dir.h"
#include "results/summary.h"
#include "results/trained.h"
#include "wire/runtime_dir.h"

namespace {

using namespace starling;

struct Options {
  std::string config, run_dir;
  std::vector<std::string> overrides;
  bool resume = false;
  std::size_t shard = 0;
  std::string learner;
  int status_fd = -1;
  int parent = 0;
};

// Writes a line per status to the supervisor, without waiting: if the pipe is full, the line is
// dropped, because every status is complete.
class StatusPipe {
 public:
  explicit StatusPipe(int fd) : fd_(fd) {}

  void Write(const learner::RunStatus& status) {
    const std::string line = (torn_ ? "\n" : "") + learner::ToJson(status).dump() + "\n";
    std::string_view rest = line;
    Take(rest);
    // The status of the end must arrive whole, even if the supervisor is slow.
    constexpr int kMaxWaitMs = 2000;
    pollfd writable{.fd = fd_, .events = POLLOUT, .revents = 0};
    while (status.phase == "done" && !rest.empty() && poll(&writable, 1, kMaxWaitMs) == 1) {
      if (!Take(rest)) break;
    }
    if (rest.size() < line.size()) torn_ = !rest.empty();
  }

 private:
  bool Take(std::string_view& rest) {
    const auto written = write(fd_, rest.data(), rest.size());
    if (written > 0) rest.remove_prefix(static_cast<std::size_t>(written));
    return written > 0;
  }

  const int fd_;
  bool torn_ = false;  // the last line was cut; the next must start on a line of its own
};

// By hand, a new run has a configuration and gets its directory here; otherwise the supervisor has
// prepared the directory.
Config Prepare(const Options& options) {
  if (options.config.empty())
    return LoadConfig(options.run_dir + "/config.toml", options.overrides);
  Config config = LoadConfig(options.config, options.overrides, nullptr, fleet::CheckConfig);
  results::ResolveInitFrom(config);
  config.run.dir = results::CreateRunDir(options.run_dir, false).string();
  results::WriteConfig(config.run.dir, config);
  return config;
}

// Without a supervisor the learner shows its progress and sums up at the end. It does not count
// actors that never joined.
class Screen {
 public:
  Screen(const Config& config, const Clock& clock)
      : config_(config),
        clock_(clock),
        console_(STDERR_FILENO, monitor::DetectStyle(STDERR_FILENO)) {}

  void Show(const learner::RunStatus& status) {
    status_ = status;
    for (const learner::ActorStatus& actor : status_->joined) {
      actors_.emplace(actor.slot, actor.incarnation);
    }
    const std::int64_t now = clock_.NowMs();
    rate_.Add(now, status_->steps);
    console_.Show(monitor::MakeProgress(status_, config_.run.steps, rate_.PerSecond(),
                                        static_cast<int>(config_.actors.count)),
                  now);
  }

  // `error`: why the run failed, "" if it did not.
  int SumUp(const std::string& run_dir, int exit_status, const std::string& error) {
    const results::RunSummary summary =
        results::BuildSummary(config_, status_, {.actors_started = actors_.size()},
                              results::ReadEvalStanding(run_dir), error);
    const std::string unwritten = results::WriteSummary(run_dir, summary);
    const std::string program =
        CallName(ProgramDir() / "starling", std::filesystem::current_path());
    for (const std::string& text : results::DescribeRun(summary, exit_status, run_dir, program)) {
      console_.Print(text);
    }
    if (unwritten.empty()) return exit_status;
    LogError("no summary: {}", unwritten);
    return exit_status == kExitDone ? kExitFailed : exit_status;
  }

 private:
  const Config& config_;
  const Clock& clock_;
  monitor::Console console_;
  monitor::RateMeter rate_;
  std::optional<learner::RunStatus> status_;
  std::set<std::pair<std::int64_t, std::uint64_t>> actors_;  // slots and incarnations
};

// A further process of a sharded learner. It reads the configuration of the run and ignores
// signals: the first process ends it.
int RunShard(const Options& options) {
  KeepFreedMemory();
  InitLog(fmt::format("shard {}", options.shard));
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_IGN);
  const Config config = LoadConfig(options.run_dir + "/config.toml", options.overrides);
  learner::Shard shard(config, results::LayoutOf(config),
                       {.run_dir = options.run_dir,
                        .learner = options.learner,
                        .shard = options.shard,
                        .abandoned = WatchParent(options.parent)});
  return shard.Run() ? kExitDone : kExitFailed;
}

// What a supervisor does before a learner that goes on with a run: does the updates again that a
// killed one took with it (tools/replay/redo.h). Returns the exit status for an end before the
// start, because of a signal, a wrong directory or a full disk; else nullopt.
std::optional<int> RedoByHand(const std::string& run_dir, int stop_fd) {
  const Spawned redo = Spawn({.program = ProgramDir() / "starling",
                              .arguments = {"replay", run_dir, "--from-checkpoint", "--write"},
                              .death_signal = SIGKILL,
                              .our_output = true});
  if (redo.pid < 0) return std::nullopt;  // the learner names what is lost
  constexpr int kLookMs = 20;
  while (true) {
    if (const std::optional<ChildExit> end = Reap(redo.pid)) {
      if (fleet::Exited(*end, kExitNotNow)) return kExitFailed;
      return fleet::Exited(*end, kExitUserError) ? std::optional(kExitUserError) : std::nullopt;
    }
    pollfd stop{.fd = stop_fd, .events = POLLIN, .revents = 0};
    if (poll(&stop, 1, kLookMs) <= 0) continue;
    EndChild(redo.pid, 0);
    LogWarn("stopped before its start; the next --resume redoes what a killed learner had applied");
    return kExitInterrupted;
  }
}

int Run(const Options& options) {
  KeepFreedMemory();
  InitLog("learner");
  const bool supervised = options.status_fd >= 0;
  // 1. Catch signals. With a supervisor a second one does not end the process: a signal to the
  // whole job arrives twice, directly and from the supervisor, which also enforces the deadline.
  const int stop_fd = CatchStopSignals(/*again_ends=*/!supervised);
  if (options.resume && !supervised) {
    if (const auto end = RedoByHand(options.run_dir, stop_fd)) return *end;
  }
  // 2. Read the configuration, remove leftovers of killed runs, open the status pages.
  const Config config = Prepare(options);
  wire::RuntimeDir::RemoveStale(wire::RuntimeRoot(config.wire.runtime_dir));
  const SteadyClock clock;
  std::optional<monitor::StatusServer> pages;
  if (config.status.port != 0) {
    pages.emplace(
        config,
        monitor::StatusServerOptions{.port = static_cast<std::uint16_t>(config.status.port),
                                     .keep_trying = supervised && options.resume},
        clock);
  }
  // 3. Build the learner and start its shards.
  Screen screen(config, clock);
  StatusPipe pipe(options.status_fd);
  std::optional<fleet::ShardProcesses> shards;
  learner::LearnerOptions setup{.run_dir = options.run_dir,
                                .resume = options.resume,
                                .exact = results::WhyNotExact(config).empty(),
                                .redo = results::WhyNotReplayed(config).empty(),
                                .stop_fd = stop_fd,
                                .reload_fd = config.wire.secret.empty() ? -1 : CatchReloadSignal(),
                                .abandoned = WatchParent(options.parent),
                                .shard_ended = [&] { return shards ? shards->FindEnded() : ""; },
                                .sinks = {.on_status = [&](const learner::RunStatus& status) {
                                  supervised ? pipe.Write(status) : screen.Show(status);
                                }}};
  if (pages) setup.sinks.on_published = [&](auto published) { pages->Show(std::move(published)); };
  learner::Learner learner(
      config, options.resume ? results::InitialNetToResume(config) : results::InitialNetOf(config),
      std::move(setup));
  if (config.learner.shards > 1) {
    shards.emplace(static_cast<std::size_t>(config.learner.shards) - 1, options.run_dir,
                   options.overrides, learner.shards_endpoint(), !options.resume);
  }
  // 4. Train, then report.
  const bool over = learner.Run();
  if (shards) shards->AwaitEnd();
  int exit_status = over || supervised ? kExitDone : kExitInterrupted;
  std::string error;
  if (!learner.checkpoint_error().empty()) {
    error = "the last checkpoint could not be written: " + learner.checkpoint_error();
    LogError("{}", error);
    exit_status = kExitFailed;
  }
  if (const std::string why = learner.gave_up(); !why.empty()) {
    error = why;
    LogError("{}", error);
    exit_status = supervised ? kExitGaveUp : kExitFailed;
  }
  return supervised ? exit_status : screen.SumUp(options.run_dir, exit_status, error);
}

}  // namespace

int main(int argc, char** argv) {
  OccupyStandardDescriptors();
  Options options;
  CLI::App app("One learner: owns the weights, applies the gradients of its actors.",
               "starling-learner");
  app.set_version_flag("--version", VersionLine("starling-learner"));
  app.add_option("config", options.config, "configuration of a new run, by hand")
      ->transform(programs::IsPath());
  app.add_option("--run-dir", options.run_dir,
                 "run directory; holds the configuration if none is given")
      ->required()
      ->transform(programs::IsPath());
  app.add_option("--set", options.overrides, "section.key=value; repeatable")
      ->allow_extra_args(false);
  app.add_flag("--resume", options.resume, "continue from the last good checkpoint");
  app.add_option("--shard", options.shard, "number of this shard, from 1");
  app.add_option("--learner", options.learner, "endpoint of the learner's first process");
  app.add_option("--status-fd", options.status_fd, "descriptor for status lines (JSON)");
  app.add_option("--parent", options.parent, "process id of the supervisor");
  try {
    app.parse(argc, argv);
    return options.shard > 0 ? RunShard(options) : Run(options);
  } catch (const CLI::ParseError& error) {
    return programs::Flushed("starling-learner", app.exit(error) == 0 ? kExitDone : kExitUserError);
  } catch (const UserError& error) {
    // Without a supervisor as `starling` does, a line for each mistake in a configuration.
    if (options.status_fd < 0) programs::PrintError(error.what());
    if (options.status_fd >= 0) LogError("{}", error.what());
    return kExitUserError;
  } catch (const learner::GaveUp& error) {
    LogError("{}", error.what());
    return options.status_fd >= 0 ? kExitGaveUp : kExitFailed;
  } catch (const std::exception& error) {
    LogError("{}", error.what());
    return kExitFailed;
  }
}
