#include "programs/run_by_hand.h"

#include <poll.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "core/child.h"
#include "core/error.h"
#include "core/file.h"
#include "core/log.h"
#include "core/process.h"
#include "fleet/check_config.h"
#include "fleet/endings.h"
#include "fleet/pages_process.h"
#include "monitor/http/status_server.h"
#include "programs/checks.h"
#include "results/eval_results.h"
#include "results/initial_net.h"
#include "results/run_dir.h"
#include "results/summary.h"
#include "wire/runtime_dir.h"

namespace starling::programs {

void AddOptions(CLI::App& app, RunOptions& options) {
  app.add_option("config", options.config, "configuration of a new run, by hand")
      ->transform(IsPath());
  app.add_option("--run-dir", options.run_dir,
                 "run directory; holds the configuration if none is given")
      ->required()
      ->transform(IsPath());
  app.add_option("--set", options.overrides, "section.key=value; repeatable")
      ->allow_extra_args(false);
  app.add_flag("--resume", options.resume, "continue from the last good checkpoint");
  app.add_flag("--restart", options.restart)->group("");  // the supervisor's
  app.add_option("--status-fd", options.status_fd, "descriptor for status lines (JSON)");
  app.add_option("--parent", options.parent, "process id of the supervisor");
}

Config PrepareRun(const RunOptions& options, const std::function<void(const Config&)>& check) {
  const bool by_hand = !options.config.empty();
  Config config = by_hand
                      ? LoadConfig(options.config, options.overrides, nullptr, fleet::CheckConfig)
                      : LoadConfig(options.run_dir + "/config.toml", options.overrides);
  check(config);
  if (!by_hand) return config;
  results::ResolveFirstWeights(config);
  config.run.dir = results::CreateRunDir(options.run_dir, false).string();
  results::WriteConfig(config.run.dir, config);
  return config;
}

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

void StatusPipe::Write(const learner::RunStatus& status) {
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

bool StatusPipe::Take(std::string_view& rest) {
  const auto written = write(fd_, rest.data(), rest.size());
  if (written > 0) rest.remove_prefix(static_cast<std::size_t>(written));
  return written > 0;
}

Screen::Screen(const Config& config, const Clock& clock)
    : config_(config),
      clock_(clock),
      console_(STDERR_FILENO, monitor::DetectStyle(STDERR_FILENO)) {}

void Screen::Show(const learner::RunStatus& status) {
  status_ = status;
  for (const learner::ActorStatus& actor : status_->joined) {
    actors_.emplace(actor.slot, actor.incarnation);
  }
  const std::int64_t now = clock_.NowMs();
  rate_.Add(now, status_->steps);
  console_.Show(monitor::MakeProgress(status_, learner::GoalOf(config_), rate_.PerSecond(),
                                      static_cast<int>(config_.actors.count)),
                now);
}

int Screen::SumUp(const std::string& run_dir, int exit_status, const std::string& error) {
  const results::RunSummary summary =
      results::BuildSummary(config_, status_, {.actors_started = actors_.size()},
                            results::ReadEvalStanding(run_dir), error);
  const std::string unwritten = results::WriteSummary(run_dir, summary);
  const std::string program = CallName(ProgramDir() / "starling", std::filesystem::current_path());
  for (const std::string& text : results::DescribeRun(summary, exit_status, run_dir, program)) {
    console_.Print(text);
  }
  if (unwritten.empty()) return exit_status;
  LogError("no summary: {}", unwritten);
  return exit_status == kExitDone ? kExitFailed : exit_status;
}

Reports::Reports(const Config& config, const RunOptions& options, int status_fd)
    : options_(options),
      published_(wire::RuntimeDir::StatusPath(wire::RuntimeRoot(config.wire.runtime_dir),
                                              options.run_dir)),
      pipe_(status_fd),
      screen_(config, clock_) {
  if (config.status.port == 0 || options.supervised()) return;
  monitor::CheckListen(config.status);
  ChildSpec spec = fleet::PagesOf(config.status, options.run_dir);
  spec.our_output = true;
  const Spawned pages = Spawn(spec);
  pages_pid_ = pages.pid;
  if (pages.pid < 0) LogWarn("no status pages: {}", ErrorText(pages.error));
}

Reports::~Reports() {
  if (pages_pid_ > 0) fleet::EndPages(pages_pid_);
}

learner::StatusReporter::Sinks Reports::Sinks() {
  return {.on_status =
              [this](const learner::RunStatus& status) {
                options_.supervised() ? pipe_.Write(status) : screen_.Show(status);
              },
          .on_published = [this](const auto& published) { Publish(published); }};
}

void Reports::Publish(const learner::PublishedStatus& published) {
  try {
    // The names that actors give themselves need not be UTF-8.
    ReplaceFile(published_, learner::ToJson(published).dump(
                                -1, ' ', false, nlohmann::json::error_handler_t::replace));
    unpublished_ = false;
  } catch (const std::system_error& error) {
    if (!std::exchange(unpublished_, true)) LogInfo("nothing for status pages: {}", error.what());
  }
}

int Reports::SumUp(const LearnerEnd& end) {
  const bool supervised = options_.supervised();
  int exit_status = end.over || supervised ? kExitDone : kExitInterrupted;
  std::string error;
  if (!end.checkpoint_error.empty()) {
    error = "the last checkpoint could not be written: " + end.checkpoint_error;
    LogError("{}", error);
    exit_status = kExitFailed;
  }
  if (!end.gave_up.empty()) {
    error = end.gave_up;
    LogError("{}", error);
    exit_status = supervised ? kExitGaveUp : kExitFailed;
  }
  return supervised ? exit_status : screen_.SumUp(options_.run_dir, exit_status, error);
}

}  // namespace starling::programs
