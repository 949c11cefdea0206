#include "tools/sweep/sweep.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>
#include <system_error>

#include "core/error.h"
#include "core/file.h"
#include "core/instructions.h"
#include "core/log.h"
#include "core/process.h"
#include "monitor/console.h"
#include "results/summary.h"

namespace starling::sweep {
namespace {

constexpr int kTickMs = 100;
constexpr std::int64_t kKillMs = 20'000;  // `starling train` ends within five seconds by itself

// Returns the modification time of summary.json, which changes when a run ends, or a fixed time if
// there is no such file.
std::filesystem::file_time_type SummaryTime(const Run& run) {
  std::error_code none;
  return std::filesystem::last_write_time(run.dir / "summary.json", none);
}

// Returns why a child failed, or "" if it succeeded.
std::string ProblemOf(const ChildExit& exit, const std::string& reason) {
  if (exit.how != ChildExit::How::kExited) return Describe(exit);
  if (exit.code == kExitDone) return "";
  if (exit.code == kExitInterrupted) return "it was interrupted, and not by us";
  return reason.empty() ? Describe(exit) : reason;
}

// Returns whether a child that was asked to stop may end like this. SIGTERM kills an evaluation,
// which has nothing to save.
bool IsStop(const ChildExit& exit) {
  if (exit.how == ChildExit::How::kKilled) return exit.code == SIGTERM;
  return exit.how == ChildExit::How::kExited &&
         (exit.code == kExitDone || exit.code == kExitInterrupted);
}

class Sweep {
 public:
  Sweep(const Grid& grid, const SweepOptions& options, const Clock& clock)
      : grid_(grid),
        options_(options),
        clock_(clock),
        console_(STDERR_FILENO, monitor::DetectStyle(STDERR_FILENO)),
        points_(OpenOutcomes(grid)),
        runs_(PlanRuns(grid, points_)) {
    for (const Run& run : runs_) {
      if (run.outcome.state != results::RunState::kFinished || grid.simulate) continue;
      finished_s_.push_back(run.before_s);
    }
  }

  int Go() {
    // 1. Prepare signals and the console.
    stop_fd_ = CatchStopSignals();
    pause_fd_ = CatchPauseSignal();
    ::signal(SIGPIPE, SIG_IGN);  // a closed terminal must not end a sweep
    console_.Print(SweepHeadline(grid_, runs_));
    WarnOfInstructions();
    // 2. Keep at_once runs going until none is left, or the operator stops the sweep.
    for (;;) {
      StartWhatFits();
      if (Count(results::RunState::kRunning) == 0) break;
      AwaitNews();
      if (stopping_ms_ && NowMs() - *stopping_ms_ > kKillMs) SignalAll(SIGKILL, SIGKILL);
      console_.Draw(
          [this](const monitor::ProgressStyle& style) { return SweepBar(Progress(), style); },
          NowMs());
    }
    // 3. Report.
    console_.Clear();
    WriteJson();
    std::printf("%s", SweepTable(grid_, points_).c_str());
    return Conclude();
  }

 private:
  std::int64_t NowMs() const { return clock_.NowMs(); }

  int Count(results::RunState state) const { return static_cast<int>(sweep::Count(runs_, state)); }

  double SecondsOf(const Run& run) const {
    return run.before_s + static_cast<double>(NowMs() - run.started_ms) / 1000.0;
  }

  // Each simulation says it in its own log, too, which nobody reads. Actors of real runs warn
  // themselves.
  void WarnOfInstructions() {
    if (!grid_.simulate) return;
    for (const GridPoint& point : grid_.points) {
      const std::string others = OtherInstructions(point.config.actors.instructions);
      if (others.empty()) continue;
      return console_.Print(others + ", so seeds give other returns than with those",
                            LogLevel::kWarn);
    }
  }

  void StartWhatFits() {
    for (Run& run : runs_) {
      if (!run.open()) continue;
      if (stopping_ms_ || Count(results::RunState::kRunning) >= grid_.at_once) return;
      Start(run);
      WriteJson();
    }
  }

  void Start(Run& run) {
    run.started_ms = NowMs();
    try {
      const std::filesystem::path aside = MakeReady(grid_, run);
      if (!aside.empty()) {
        console_.Print(fmt::format(
            "{}: {}; it starts again from the beginning, and its old files are in {}",
            run.dir.string(),
            grid_.simulate ? "a simulation cannot be resumed" : "there is nothing to resume from",
            aside.string()));
      }
    } catch (const std::runtime_error& error) {
      return Fail(run, error.what());
    }
    if (run.todo == Todo::kNothing) return Finish(run);  // another process has done it
    run.outcome.state = results::RunState::kRunning;
    StartJob(run);
  }

  void StartJob(Run& run) {
    run.summary_time = SummaryTime(run);
    run.job = std::make_unique<Job>(ProgramDir() / "starling", Arguments(grid_, run));
  }

  // Waits for a line of a child, the end of a child, a stop signal, or kTickMs. Handles them all.
  void AwaitNews() {
    // 1. Wait. A negative descriptor is never ready.
    const int stop_fd = stopping_ms_ ? -1 : stop_fd_;
    std::vector<pollfd> fds = {{.fd = stop_fd, .events = POLLIN, .revents = 0},
                               {.fd = pause_fd_, .events = POLLIN, .revents = 0}};
    bool all_speak = true;
    for (const Run& run : runs_) {
      if (!run.job) continue;
      all_speak = all_speak && run.job->output_fd() >= 0;
      if (run.job->output_fd() >= 0) {
        fds.push_back({.fd = run.job->output_fd(), .events = POLLIN, .revents = 0});
      }
    }
    // A child that has closed its output ends soon: wait only briefly.
    ::poll(fds.data(), fds.size(), all_speak ? kTickMs : 2);
    // 2. Handle a stop first, so that the ends of runs below count as stopped.
    if (fds[0].revents != 0) Stop();
    if (fds[1].revents != 0) Pause();
    for (Run& run : runs_) {
      if (!run.job) continue;
      run.job->Read();
      if (const std::optional<ChildExit> exit = run.job->Reap()) Ended(run, *exit);
    }
  }

  void Stop() {
    stopping_ms_ = NowMs();
    console_.Print(
        "interrupted: the runs under way write their checkpoints; once more ends it at once",
        LogLevel::kWarn);
    SignalAll(SIGINT, SIGTERM);
  }

  // Ctrl-Z reaches only us.
  void Pause() {
    // 1. Stop.
    eventfd_t ignored = 0;
    ::eventfd_read(pause_fd_, &ignored);
    console_.Clear();
    const std::int64_t began_ms = NowMs();
    for (Run& run : runs_) {
      if (run.job) run.job->Pause();
    }
    ::kill(::getpid(), SIGSTOP);  // returns after a SIGCONT
    // 2. Go on. The time between does not count.
    const std::int64_t paused_ms = NowMs() - began_ms;
    if (stopping_ms_) *stopping_ms_ += paused_ms;
    for (Run& run : runs_) run.started_ms += paused_ms;
    SignalAll(SIGCONT, SIGCONT);
  }

  void SignalAll(int to_training, int to_evaluation) {
    for (Run& run : runs_) {
      if (run.job) run.job->Signal(run.todo == Todo::kEvaluate ? to_evaluation : to_training);
    }
  }

  void Ended(Run& run, const ChildExit& exit) {
    // 1. Find out why it ended: from a new summary.json, or else from its output.
    const std::unique_ptr<Job> job = std::exchange(run.job, nullptr);
    const bool evaluation = run.todo == Todo::kEvaluate;
    const std::optional<results::RunResult> result = results::ReadSummary(run.dir);
    const bool told = result && !result->error.empty() && SummaryTime(run) != run.summary_time;
    std::string problem = ProblemOf(exit, told ? result->error : job->reason());
    if (result) run.outcome.summary = result->training;

    // 2. Take an evaluation's result and warnings from its output: it has no log.
    if (evaluation) {
      for (const std::string& line : job->said()) {
        if (LevelOf(line).value_or(LogLevel::kInfo) < LogLevel::kWarn) continue;
        console_.Print(run.name() + ": " + line, LogLevel::kWarn);
      }
      if (problem.empty()) {
        problem = results::KeepEval(run.dir, run.outcome.summary->checkpoint, job->said());
      }
    }

    // 3. Decide the next task from the directory.
    Todo next = Todo::kBegin;
    try {
      next = WhatIsLeft(grid_, run);
    } catch (const std::system_error& error) {  // its directory cannot be read
      problem = error.what();
    }
    // 4. Finish the run, leave it unfinished after a stop, evaluate it, or fail it.
    if (problem.empty() && next == Todo::kNothing) {
      if (grid_.eval.episodes > 0) run.outcome.eval = results::ReadFinalEval(run.dir);
      Finish(run);
    } else if (stopping_ms_) {
      run.outcome.state = results::RunState::kUnfinished;
      if (!IsStop(exit)) console_.Print(run.name() + ": " + problem, LogLevel::kError);
    } else if (problem.empty() && next == Todo::kEvaluate && !evaluation) {
      run.todo = next;
      StartJob(run);
    } else {
      if (problem.empty()) problem = "it ended well, but is not complete";
      Fail(run, (evaluation ? "evaluation: " : "") + problem);
    }
    WriteJson();
  }

  void Finish(Run& run) {
    run.outcome.state = results::RunState::kFinished;
    finished_s_.push_back(SecondsOf(run));
    console_.Print(RunLine(grid_, runs_, run, finished_s_.back()));
  }

  void Fail(Run& run, const std::string& reason) {
    run.outcome.state = results::RunState::kFailed;
    run.outcome.error = reason;
    console_.Print(RunLine(grid_, runs_, run, SecondsOf(run)), LogLevel::kError);
  }

  SweepProgress Progress() const {
    std::vector<double> running;
    for (const Run& run : runs_) {
      if (run.outcome.state == results::RunState::kRunning) running.push_back(SecondsOf(run));
    }
    const auto open = static_cast<int>(std::ranges::count_if(runs_, &Run::open));
    return {.total = static_cast<int>(runs_.size()),
            .done = Count(results::RunState::kFinished),
            .running = Count(results::RunState::kRunning),
            .failed = Count(results::RunState::kFailed),
            .left_s = SweepTimeLeft(finished_s_, running, open, grid_.at_once)};
  }

  void WriteJson() {
    try {
      WriteFileAtomically(grid_.dir / "sweep.json", SweepJson(grid_, points_));
      json_problem_.clear();
    } catch (const std::system_error& error) {
      if (json_problem_.empty()) console_.Print(error.what(), LogLevel::kError);
      json_problem_ = error.what();
    }
  }

  int Conclude() {
    for (const Run& run : runs_) {
      if (run.outcome.state != results::RunState::kFailed) continue;
      console_.Print(fmt::format("failed: {}: {}", run.dir.string(), run.outcome.error),
                     LogLevel::kError);
    }
    for (const std::string& line : WhatNext(grid_, runs_, options_)) console_.Print(line);
    const bool all = Count(results::RunState::kFinished) == static_cast<int>(runs_.size());
    if (stopping_ms_ && !all) return kExitInterrupted;
    return all && json_problem_.empty() ? kExitDone : kExitFailed;
  }

  const Grid& grid_;
  const SweepOptions& options_;
  const Clock& clock_;
  monitor::Console console_;
  std::vector<PointOutcome> points_;
  std::vector<Run> runs_;  // in the order in which they are started
  std::vector<double> finished_s_;
  int stop_fd_ = -1, pause_fd_ = -1;
  std::optional<std::int64_t> stopping_ms_;
  std::string json_problem_;
};

}  // namespace

int RunSweep(const SweepOptions& options, const Clock& clock) {
  Grid grid = ReadGrid(options.grid);
  KeepOnly(grid, options.only);
  const LockedFile lock = OpenLock(grid);
  if (!lock.held()) {
    throw UserError(fmt::format("another starling sweep is running in {}; wait for its end",
                                grid.dir.string()));
  }
  return Sweep(grid, options, clock).Go();
}

}  // namespace starling::sweep
