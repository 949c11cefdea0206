#include "fleet/sweep/sweep.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/error.h"
#include "core/file.h"
#include "fleet/console.h"
#include "fleet/process.h"
#include "fleet/summary.h"
#include "fleet/sweep/grid.h"
#include "fleet/sweep/last_words.h"
#include "fleet/sweep/outcome.h"
#include "fleet/sweep/runs.h"
#include "fleet/sweep/sweep_text.h"

namespace starling::fleet {
namespace {

namespace fs = std::filesystem;

constexpr int kTickMs = 100;
constexpr std::int64_t kKillMs = 20'000;  // `starling train` ends within five seconds by itself

class Sweep {
 public:
  Sweep(const Grid& grid, const SweepOptions& options)
      : grid_(grid),
        options_(options),
        console_(STDERR_FILENO, DetectStyle(STDERR_FILENO)),
        points_(OpenOutcomes(grid)),
        runs_(PlanRuns(grid, points_)) {
    for (const Run& run : runs_) {
      if (run.outcome.standing == RunStanding::kDone) finished_s_.push_back(run.before_s);
    }
  }

  int Go() {
    stop_fd_ = CatchStopSignals();
    ::signal(SIGPIPE, SIG_IGN);  // a closed terminal must not end a sweep
    SayWhatIsAhead();
    for (;;) {
      StartWhatFits();
      if (CountRunning() == 0) break;
      AwaitNews();
      if (stopping_ms_ && NowMs() - *stopping_ms_ > kKillMs) SignalAll(SIGKILL, SIGKILL);
      console_.Draw([this](const ProgressStyle& style) { return SweepBar(Progress(), style); },
                    NowMs());
    }
    console_.Clear();
    WriteJson();
    std::printf("%s", SweepTable(grid_, points_).c_str());
    return Conclude();
  }

 private:
  std::int64_t NowMs() const { return clock_.NowMs(); }

  int Count(RunStanding standing) const {
    return static_cast<int>(
        std::ranges::count(runs_, standing, [](const Run& run) { return run.outcome.standing; }));
  }
  int CountRunning() const { return Count(RunStanding::kRunning); }

  double SecondsOf(const Run& run) const {
    return run.before_s + static_cast<double>(NowMs() - run.started_ms) / 1000.0;
  }

  void SayWhatIsAhead() {
    const auto resumed = std::ranges::count(runs_, Todo::kResume, &Run::todo);
    const int done = Count(RunStanding::kDone);
    console_.Print(fmt::format("sweep in {}: {} runs ({} points, {} seeds), {} at a time{}{}",
                               grid_.dir.string(), runs_.size(), grid_.points.size(),
                               grid_.seeds.size(), grid_.at_once,
                               done > 0 ? fmt::format("; {} done already", done) : "",
                               resumed > 0 ? fmt::format("; {} to go on with", resumed) : ""));
  }

  void StartWhatFits() {
    for (Run& run : runs_) {
      if (stopping_ms_ || CountRunning() >= grid_.at_once) return;
      if (run.outcome.standing == RunStanding::kOpen) Start(run);
    }
  }

  void Start(Run& run) {
    if (run.todo == Todo::kBeginAnew) {
      console_.Print(
          fmt::format("{}: nothing in it to go on from; it is begun anew", run.dir.string()));
      std::error_code ignored;  // what cannot be removed `starling train` will refuse
      fs::remove_all(run.dir, ignored);
      run.todo = Todo::kBegin;
    }
    if (run.todo == Todo::kBegin) run.before_s = 0;
    run.outcome.standing = RunStanding::kRunning;
    run.started_ms = NowMs();
    run.job = std::make_unique<Job>(ProgramDir() / "starling", Arguments(grid_, run));
    WriteJson();
  }

  // A line of a child, an end of one, a signal to stop, or a moment.
  void AwaitNews() {
    std::vector<pollfd> fds;
    if (!stopping_ms_) fds.push_back({.fd = stop_fd_, .events = POLLIN, .revents = 0});
    bool all_speak = true;
    for (const Run& run : runs_) {
      if (!run.job) continue;
      all_speak = all_speak && run.job->output_fd() >= 0;
      if (run.job->output_fd() >= 0) {
        fds.push_back({.fd = run.job->output_fd(), .events = POLLIN, .revents = 0});
      }
    }
    // Whoever has closed its output is about to end.
    ::poll(fds.data(), fds.size(), all_speak ? kTickMs : 2);
    if (!stopping_ms_ && fds.front().revents != 0) Stop();
    for (Run& run : runs_) {
      if (!run.job) continue;
      run.job->Read();
      if (const std::optional<ChildExit> exit = run.job->Reap()) Ended(run, *exit);
    }
  }

  void Stop() {
    stopping_ms_ = NowMs();
    console_.Print(
        "interrupted: the runs under way write their checkpoints; once more ends it "
        "at once",
        LogLevel::kWarn);
    SignalAll(SIGINT, SIGTERM);
  }

  void SignalAll(int to_training, int to_evaluation) {
    for (Run& run : runs_) {
      if (run.job) run.job->Signal(run.todo == Todo::kEvaluate ? to_evaluation : to_training);
    }
  }

  void Ended(Run& run, const ChildExit& exit) {
    const std::vector<std::string> said = std::exchange(run.job, nullptr)->said();
    bool well = exit.how == ChildExit::How::kExited && exit.code == kExitDone;
    const bool evaluated = run.todo == Todo::kEvaluate;
    if (well && evaluated) well = KeepEval(run, said);
    run.outcome.summary = ReadRunSummary(run.dir);
    const Todo next = WhatIsLeft(grid_, run);
    if (well && next == Todo::kNothing) {
      run.outcome.standing = RunStanding::kDone;
      if (grid_.eval_episodes > 0) run.outcome.eval = ReadFinalEval(run.dir);
      finished_s_.push_back(SecondsOf(run));
      Tell(run);
    } else if (stopping_ms_) {
      run.outcome.standing = RunStanding::kOpen;
    } else if (well && next == Todo::kEvaluate && !evaluated) {
      run.todo = next;
      run.job = std::make_unique<Job>(ProgramDir() / "starling", Arguments(grid_, run));
    } else {
      Fail(run, (evaluated ? "evaluation: " : "") + Reason(exit, said));
    }
    WriteJson();
  }

  static std::string Reason(const ChildExit& exit, const std::vector<std::string>& said) {
    if (exit.how != ChildExit::How::kExited) return Describe(exit);
    if (exit.code == kExitDone) return "it ended well, but is not complete";
    if (exit.code == kExitInterrupted) return "it was interrupted, and not by us";
    const std::string words = LastWords(said);
    return words.empty() ? Describe(exit) : words;
  }

  // Whether the evaluation told its result, and that could be kept.
  bool KeepEval(const Run& run, const std::vector<std::string>& said) {
    for (const std::string& line : said) {
      std::optional<FinalEval> eval = ParseEvalOutput(line);
      if (!eval) continue;
      eval->checkpoint = *run.outcome.summary->final_checkpoint;
      try {
        WriteFinalEval(run.dir, *eval);
        return true;
      } catch (const std::system_error& error) {
        console_.Print(error.what(), LogLevel::kError);
      }
    }
    return false;
  }

  void Fail(Run& run, const std::string& reason) {
    run.outcome.standing = RunStanding::kFailed;
    run.outcome.error = reason;
    Tell(run);
  }

  // The line of a run that is over.
  void Tell(const Run& run) {
    const RunOutcome& outcome = run.outcome;
    const int over = Count(RunStanding::kDone) + Count(RunStanding::kFailed);
    const std::string who =
        fmt::format("{}/{}  {} seed {}", over, runs_.size(), run.point.name, outcome.seed);
    if (outcome.standing == RunStanding::kFailed) {
      console_.Print(fmt::format("{} failed: {}", who, outcome.error), LogLevel::kError);
      return;
    }
    const std::optional<double> score = outcome.Score(grid_.eval_episodes > 0);
    const auto rate = static_cast<std::uint64_t>(outcome.summary->steps_per_second + 0.5);
    console_.Print(fmt::format("{}: {}, {} steps/s, {}", who,
                               score ? fmt::format("return {:.2f}", *score) : "no return",
                               Grouped(rate), HumanTime(finished_s_.back())));
  }

  SweepProgress Progress() const {
    std::vector<double> running;
    for (const Run& run : runs_) {
      if (run.outcome.standing != RunStanding::kRunning) continue;
      running.push_back(SecondsOf(run));
    }
    return {
        .total = static_cast<int>(runs_.size()),
        .done = Count(RunStanding::kDone),
        .running = CountRunning(),
        .failed = Count(RunStanding::kFailed),
        .left_s = SweepTimeLeft(finished_s_, running, Count(RunStanding::kOpen), grid_.at_once)};
  }

  void WriteJson() {
    try {
      WriteFileAtomically(grid_.dir / "sweep.json", SweepJson(grid_, points_).dump(2) + "\n");
      json_trouble_.clear();
    } catch (const std::system_error& error) {
      if (json_trouble_.empty()) console_.Print(error.what(), LogLevel::kError);
      json_trouble_ = error.what();
    }
  }

  int Conclude() {
    const int done = Count(RunStanding::kDone), failed = Count(RunStanding::kFailed);
    const std::string again = fmt::format("{} sweep {}", options_.program, grid_.file.string());
    for (const Run& run : runs_) {
      if (run.outcome.standing != RunStanding::kFailed) continue;
      console_.Print(fmt::format("failed: {}: {}", run.dir.string(), run.outcome.error),
                     LogLevel::kError);
    }
    if (done < static_cast<int>(runs_.size())) {
      console_.Print(
          fmt::format("{} of {} runs are done; go on with: {}", done, runs_.size(), again));
    }
    if (done > 0) {
      console_.Print(fmt::format("all of it is in {}; to look at it: {} report {}",
                                 (grid_.dir / "sweep.json").string(), options_.program,
                                 grid_.dir.string()));
    }
    if (stopping_ms_ && done < static_cast<int>(runs_.size())) return kExitInterrupted;
    return failed > 0 || !json_trouble_.empty() ? kExitFailed : kExitDone;
  }

  const Grid& grid_;
  const SweepOptions& options_;
  Console console_;
  const SteadyClock clock_;
  std::vector<PointOutcome> points_;
  std::vector<Run> runs_;  // in the order in which they are started
  std::vector<double> finished_s_;
  int stop_fd_ = -1;
  std::optional<std::int64_t> stopping_ms_;
  std::string json_trouble_;
};

}  // namespace

int RunSweep(const SweepOptions& options) {
  const Grid grid = ReadGrid(options.grid);
  const SweepLock lock(grid.dir);
  return Sweep(grid, options).Go();
}

}  // namespace starling::fleet
