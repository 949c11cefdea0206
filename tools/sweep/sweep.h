// `starling sweep GRID.toml`: runs `starling train` or `starling simulate` for every point of a
// grid and every seed, `at_once` runs at a time, and evaluates each run at its end. A second call
// continues where the first stopped.
//
//   DIR/lock         held while a sweep runs here: one sweep per directory
//   DIR/sweep.json   results so far (SweepJson), rewritten after each run
//   DIR/POINT/point.toml   the checked configuration of its runs
//   DIR/POINT/seed-N/   a run like any other, with final_eval.json
//   DIR/old/POINT/seed-N/   replaced runs: a sweep deletes nothing
//
// Thread safety: the main thread alone: the kernel ends the children with the thread that started
// them (core/child.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/child.h"
#include "core/clock.h"
#include "core/config/config.h"
#include "core/locked_file.h"
#include "fleet/child_output.h"
#include "learner/run_goal.h"
#include "learner/run_status.h"
#include "monitor/console.h"
#include "results/eval_results.h"
#include "results/run_dir.h"
#include "results/run_record.h"
#include "results/statistics.h"
#include "tools/sweep/grid.h"

namespace starling::sweep {

struct SweepOptions {
  std::filesystem::path grid;
  std::vector<std::string> only{};   // KeepOnly
  std::string program = "starling";  // as called, for the hints at the end
};

// Prints the table of all points on standard output. Returns the exit status: 1 if a run failed,
// 130 if it was interrupted. Throws UserError before it starts any run. Measures all times by
// `clock`.
int RunSweep(const SweepOptions& options, const Clock& clock = SteadyClock());

// ---- The results: sweep.json and the table that is printed at the end (outcome.cc)

struct RunOutcome {
  std::uint64_t seed = 0;
  std::string dir;  // relative to the sweep's directory
  results::RunState state = results::RunState::kNotBegun;
  std::string error{};                          // last error line, if it failed
  std::optional<learner::RunStatus> summary{};  // results/summary.h
  std::optional<results::FinalEval> eval{};

  // Returns the mean return of the final evaluation, or of the last training episodes if the sweep
  // does not evaluate. Returns nullopt if the run is not finished.
  std::optional<double> Score(bool evaluated) const;
};

struct PointOutcome {
  std::string name;
  std::vector<std::pair<std::string, std::string>> varied;  // keys and values, in TOML
  std::vector<RunOutcome> runs;
};

// Statistics over the finished runs of a point.
struct PointNumbers {
  std::size_t finished = 0;
  std::vector<double> scores{};              // the returns of the runs that have one
  std::optional<results::Spread> returns{};  // of the scores
  std::optional<double> steps_per_second{};  // mean
};
PointNumbers NumbersOf(const PointOutcome& point, bool evaluated);

// {"grid", "config", "simulated", "seeds", "eval_episodes", "points": [{"name", "settings": {key:
// value}, "finished", "mean", "median", "interquartile_mean", "steps_per_second", "runs": [{"seed",
// "dir", "state", "error", "steps", "seconds", "steps_per_second", "training_return", "staleness":
// {"mean", "max"}, "evaluation": {"mean_return", "std", "episodes"}}]}]}. Unknown values are null.
std::string SweepJson(const Grid& grid, const std::vector<PointOutcome>& points);

// One line per point: number of seeds with a return; their mean, median and interquartile mean with
// its 95 % interval; steps per second.
std::string SweepTable(const Grid& grid, const std::vector<PointOutcome>& points);

// ---- The next task of a run, by the contents of its directory

struct RunFacts {
  bool there = false;      // the directory exists and is not empty
  bool finished = false;   // come to its goal, and every file still needed is there
  bool resumable = false;  // has a configuration and a valid checkpoint
  bool evaluated = false;  // as this sweep does it, or none is wanted
  friend bool operator==(const RunFacts&, const RunFacts&) = default;
};

// Reads the facts of a run that wants to come to `goal` and is evaluated by `plan`. A finished run
// needs its final checkpoint only until it is evaluated.
RunFacts ReadRunFacts(const std::filesystem::path& run_dir, const learner::RunGoal& goal,
                      const results::EvalPlan& plan);

enum class Todo : std::uint8_t {
  kBegin,
  kRestart,  // cannot be resumed: move it aside and begin
  kResume,
  kEvaluate,
  kNothing,
};
Todo WhatIsLeft(const RunFacts& facts);

// Throws UserError, with advice for the operator, if the directory exists and does not belong to
// this sweep: it is not a run, its configuration differs from `config`, or it was simulated and
// `simulate` is false (or the reverse).
void CheckItIsOurs(const std::filesystem::path& run_dir, const Config& config, bool simulate);

// ---- A child process and the last lines of its output

class Job {
 public:
  Job(const std::filesystem::path& program, const std::vector<std::string>& arguments);
  ~Job();  // kills the process if it is still running
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  // Returns the file descriptor of its output, or -1 after the end of the output.
  int output_fd() const { return child_.output.get(); }
  // Reads the available output without waiting.
  void Read();
  // Returns how the process ended, once; nullopt while it runs.
  std::optional<ChildExit> Reap();
  // Stops the process and its children, until a SIGCONT.
  void Pause();
  // Sends `signal` to the process; SIGKILL to its whole process group.
  void Signal(int signal);

  std::vector<std::string> said() const { return {said_.begin(), said_.end()}; }
  std::string reason() const { return reason_.text(); }  // why it ended, according to its output

 private:
  Spawned child_;
  std::deque<std::string> said_;
  fleet::EndReason reason_;
  fleet::LineSplitter lines_;
};

// ---- The runs

struct Run {
  const GridPoint& point;
  RunOutcome& outcome;
  std::filesystem::path dir;
  Todo todo = Todo::kNothing;
  double before_s = 0;          // seconds of its earlier training
  std::int64_t started_ms = 0;  // start of its child process, on the clock of the sweep
  std::unique_ptr<Job> job{};
  std::filesystem::file_time_type summary_time{};  // of summary.json when the job started

  bool open() const {
    return outcome.state == results::RunState::kNotBegun ||
           outcome.state == results::RunState::kUnfinished;
  }
  std::string name() const;  // "bound=4 seed 2"
};

// Creates the sweep's directory and opens DIR/lock, which is held while the sweep runs. Throws
// UserError if the directory cannot be written.
LockedFile OpenLock(const Grid& grid);

// Returns an outcome for every run of the grid, all of them kNotBegun.
std::vector<PointOutcome> OpenOutcomes(const Grid& grid);

// Returns the runs in the order in which they start: seed by seed, so that every point has a result
// early. Updates `outcomes` (of OpenOutcomes) from the directories. Throws UserError if a directory
// holds something else. REQUIRES: `grid` and `outcomes` outlive the runs.
std::vector<Run> PlanRuns(const Grid& grid, std::vector<PointOutcome>& outcomes);

// Inspects the run's directory again, as hours may have passed since PlanRuns, and prepares it. A
// run that cannot be resumed is moved aside: returns its new directory, otherwise "". Throws
// std::runtime_error with a sentence for the operator if the run cannot start.
std::filesystem::path MakeReady(const Grid& grid, Run& run);

Todo WhatIsLeft(const Grid& grid, const Run& run);

// Returns the arguments of `starling` for the next task of `run`. REQUIRES: run.todo != kNothing.
std::vector<std::string> Arguments(const Grid& grid, const Run& run);

// ---- The text that a sweep prints (outcome.cc): pure functions of runs and numbers

std::size_t Count(const std::vector<Run>& runs, results::RunState state);

// "sweep in sweeps/bounds: 6 runs (3 points, 2 seeds), 1 at a time; 2 done already"
std::string SweepHeadline(const Grid& grid, const std::vector<Run>& runs);

// The line for a run that has just finished or failed after `seconds`.
std::string RunLine(const Grid& grid, const std::vector<Run>& runs, const Run& run, double seconds);

// The last lines: the number of finished runs and the next commands, as this sweep was called.
std::vector<std::string> WhatNext(const Grid& grid, const std::vector<Run>& runs,
                                  const SweepOptions& options);

struct SweepProgress {
  int total = 0, done = 0, running = 0, failed = 0;
  std::optional<double> left_s;  // nullopt until a run has finished
};

// At most width - 1 columns. Leaves out parts that do not fit, the least important first.
std::string SweepBar(const SweepProgress& progress, const monitor::ProgressStyle& style);

// Estimates the seconds until all runs are done, if each takes the mean of `finished` (seconds per
// finished run). `running` holds the seconds so far of each current run, `waiting` counts the runs
// that have not started, and `at_once` run concurrently. Returns nullopt if none is finished.
std::optional<double> SweepTimeLeft(std::span<const double> finished,
                                    std::span<const double> running, int waiting, int at_once);

}  // namespace starling::sweep
