#include "tools/sweep/sweep.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <string_view>
#include <system_error>

#include "core/error.h"
#include "core/file.h"
#include "core/instructions.h"
#include "core/locked_file.h"
#include "learner/storage/checkpoint.h"
#include "results/summary.h"

namespace starling::sweep {
namespace {

namespace fs = std::filesystem;

bool IsFile(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

// The configuration of a point as it was checked: files may be edited while a sweep runs.
fs::path ConfigOf(const Grid& grid, const GridPoint& point) {
  return grid.dir / point.name / "point.toml";
}

// Sets the task and the outcome of `run` from its directory.
void Look(const Grid& grid, Run& run) {
  // 1. Decide the task.
  Config config = run.point.config;
  config.run.seed = run.outcome.seed;
  CheckItIsOurs(run.dir, config, grid.simulate);
  run.todo = WhatIsLeft(grid, run);
  if (grid.simulate && run.todo == Todo::kResume) run.todo = Todo::kRestart;
  // 2. Take the results that exist so far.
  run.outcome.state = results::RunState::kNotBegun;
  if (run.todo == Todo::kBegin) return;
  const std::optional<results::RunResult> result = results::ReadSummary(run.dir);
  run.outcome.summary = result ? std::optional(result->training) : std::nullopt;
  // A simulation's seconds are virtual.
  run.before_s = run.outcome.summary && !grid.simulate ? run.outcome.summary->seconds : 0;
  run.outcome.state = results::RunState::kUnfinished;
  if (run.todo != Todo::kNothing) return;
  run.outcome.state = results::RunState::kFinished;
  if (grid.eval.episodes > 0) run.outcome.eval = results::ReadFinalEval(run.dir);
}

// Moves a run that cannot be resumed to DIR/old. Returns its new directory.
fs::path MoveAside(const Grid& grid, const Run& run) {
  if (const std::optional<results::FinalEval> eval = results::ReadFinalEval(run.dir)) {
    throw UserError(fmt::format(
        "it was evaluated with {} episodes{}, and its weights are gone or damaged: "
        "set eval_episodes = {} and eval_greedy = {}, or move {} away to train it again",
        eval->played.episodes, eval->played.greedy ? ", greedily" : "", eval->played.episodes,
        eval->played.greedy, run.dir.string()));
  }
  const fs::path aside =
      results::CreateRunDir(grid.dir / "old" / run.outcome.dir, /*may_number=*/true);
  fs::rename(run.dir, aside);
  return aside;
}

constexpr std::size_t kMaxLine = 16 << 10, kLinesKept = 200;  // of the output of a job

}  // namespace

Job::Job(const std::filesystem::path& program, const std::vector<std::string>& arguments)
    // SIGTERM: if the sweep is killed, its runs still write their checkpoints.
    : child_(Spawn({.program = program,
                    .arguments = arguments,
                    .status_pipe = false,
                    .death_signal = SIGTERM})),
      lines_(kMaxLine, [this](std::string_view line) {
        said_.emplace_back(line);
        reason_.Add(line);
        if (said_.size() > kLinesKept) said_.pop_front();
      }) {}

Job::~Job() {
  if (child_.pid > 0) EndChild(child_.pid, 0);
}

void Job::Read() {
  std::array<char, 16 << 10> buffer;
  while (output_fd() >= 0) {
    const ssize_t size = ::read(output_fd(), buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return;
    if (size <= 0) {
      child_.output = FileDescriptor();
    } else {
      lines_.Add({buffer.data(), static_cast<std::size_t>(size)});
    }
  }
}

std::optional<ChildExit> Job::Reap() {
  std::optional<ChildExit> exit;
  if (child_.pid < 0) {
    exit = ChildExit{ChildExit::How::kNotStarted, child_.error};
  } else {
    exit = starling::Reap(child_.pid);
  }
  if (!exit) return exit;
  child_.pid = 0;
  Read();  // the rest of its output
  lines_.End();
  return exit;
}

void Job::Pause() {
  constexpr int kMaxWaitMs = 2000;
  if (child_.pid > 0) PauseChild(child_.pid, kMaxWaitMs);
}

void Job::Signal(int signal) {
  if (child_.pid > 0) ::kill(signal == SIGKILL ? -child_.pid : child_.pid, signal);
}

// ---- The runs

RunFacts ReadRunFacts(const fs::path& run_dir, const learner::RunGoal& goal,
                      const results::EvalPlan& plan) {
  RunFacts facts{.there = !results::IsUnused(run_dir)};
  if (!facts.there) return facts;
  const std::optional<results::RunResult> result = results::ReadSummary(run_dir);
  const learner::RunStatus summary = result.value_or(results::RunResult{}).training;
  const bool complete = result && goal.Reached(summary) && !summary.checkpoint.empty();
  const std::optional<results::FinalEval> eval = results::ReadFinalEval(run_dir);
  facts.evaluated = plan.episodes == 0 || (complete && eval && eval->played == plan &&
                                           eval->checkpoint == summary.checkpoint);
  facts.finished =
      complete && (facts.evaluated || results::IsCheckpointOf(run_dir / summary.checkpoint,
                                                              std::min(goal.steps, summary.steps)));
  facts.resumable = !facts.finished && IsFile(run_dir / "config.toml") &&
                    learner::LastGood(run_dir / "checkpoints").checkpoint.has_value();
  return facts;
}

Todo WhatIsLeft(const RunFacts& facts) {
  if (!facts.there) return Todo::kBegin;
  if (facts.finished) return facts.evaluated ? Todo::kNothing : Todo::kEvaluate;
  return facts.resumable ? Todo::kResume : Todo::kRestart;
}

void CheckItIsOurs(const fs::path& run_dir, const Config& config, bool simulate) {
  if (results::IsUnused(run_dir)) return;
  const auto refuse = [&](const std::string& why, const char* first) {
    throw UserError(fmt::format("{} {}; {}, or give the sweep another dir = \"...\"",
                                run_dir.string(), why, first));
  };
  // 1. Is it a run?
  if (!IsFile(run_dir / "config.toml")) {
    if (!IsFile(run_dir / "log")) refuse("is in the way: it is no run", "move it away");
    if (IsFile(run_dir / "summary.json")) refuse("has lost its config.toml", "move it away");
    return;  // a run that died early
  }
  // 2. Is it a run of the same kind?
  std::optional<Config> there;
  try {
    there = LoadConfig(run_dir / "config.toml");
  } catch (const UserError& error) {
    refuse(fmt::format("has a configuration that cannot be read ({})", error.what()),
           "move it away");
  }
  if (results::IsSimulated(run_dir) != simulate) {
    refuse(simulate ? "was trained, and here runs are simulated"
                    : "was simulated, and here runs are trained",
           "move it away");
  }
  // 3. Is it a run with the same configuration?
  if (const std::string difference = Difference(*there, config); !difference.empty()) {
    refuse("was trained with another configuration: " + difference,
           "write what is there under [set] or [[where]] to go on with it");
  }
  // 4. Would this program have computed the same?
  const std::optional<results::RunResult> result = results::ReadSummary(run_dir);
  if (!simulate || !result || result->instructions.empty()) return;
  const std::string here = NameOf(InstructionsFor(config.actors.instructions));
  if (result->instructions == here) return;
  refuse(fmt::format("was computed with the instructions {}, and this program computes with {}",
                     result->instructions, here),
         "move it away");
}

std::string Run::name() const { return fmt::format("{} seed {}", point.name, outcome.seed); }

LockedFile OpenLock(const Grid& grid) {
  std::error_code error;
  fs::create_directories(grid.dir, error);
  try {
    return LockedFile(grid.dir / "lock");
  } catch (const std::system_error& opening) {
    throw UserError(
        fmt::format("the sweep's directory {} cannot be written: {}; give it another dir = \"...\"",
                    grid.dir.string(), (error ? error : opening.code()).message()));
  }
}

std::vector<PointOutcome> OpenOutcomes(const Grid& grid) {
  std::vector<PointOutcome> outcomes;
  for (const GridPoint& point : grid.points) {
    outcomes.push_back({point.name, point.varied, {}});
    for (const std::uint64_t seed : grid.seeds) {
      outcomes.back().runs.push_back(
          {.seed = seed, .dir = fmt::format("{}/seed-{}", point.name, seed)});
    }
  }
  return outcomes;
}

std::vector<Run> PlanRuns(const Grid& grid, std::vector<PointOutcome>& outcomes) {
  std::vector<Run> runs;
  std::string mistakes;
  for (std::size_t s = 0; s < grid.seeds.size(); ++s) {
    for (std::size_t p = 0; p < grid.points.size(); ++p) {
      RunOutcome& outcome = outcomes[p].runs[s];
      runs.push_back({grid.points[p], outcome, grid.dir / outcome.dir});
      try {
        Look(grid, runs.back());
      } catch (const UserError& error) {
        mistakes += (mistakes.empty() ? "" : "\n") + std::string(error.what());
      } catch (const std::system_error&) {
        // The directory cannot be read: this run alone fails, when it is started.
      }
    }
  }
  if (!mistakes.empty()) throw UserError(mistakes);
  return runs;
}

fs::path MakeReady(const Grid& grid, Run& run) {
  // 1. Another process may have started this run, or finished it, since the plan was made.
  if (IsLocked(run.dir / "log")) {
    throw UserError(
        fmt::format("another starling train is running in {}; wait for its end", run.dir.string()));
  }
  Look(grid, run);
  // 2. Make room for a new run, then write its configuration.
  fs::path aside;
  if (run.todo == Todo::kRestart) {
    aside = MoveAside(grid, run);
    run.todo = Todo::kBegin;
    run.before_s = 0;
  }
  if (run.todo == Todo::kBegin) {
    fs::create_directories(grid.dir / run.point.name);
    WriteFileAtomically(ConfigOf(grid, run.point), ToToml(run.point.config));
  }
  return aside;
}

Todo WhatIsLeft(const Grid& grid, const Run& run) {
  return WhatIsLeft(ReadRunFacts(run.dir, learner::GoalOf(run.point.config), grid.eval));
}

std::vector<std::string> Arguments(const Grid& grid, const Run& run) {
  if (run.todo == Todo::kResume) return {"train", "--resume", run.dir.string()};
  if (run.todo == Todo::kEvaluate) {
    std::vector<std::string> arguments = {
        "eval", (run.dir / run.outcome.summary->checkpoint).string(), "--json", "--episodes",
        std::to_string(grid.eval.episodes)};
    if (grid.eval.greedy) arguments.push_back("--greedy");
    return arguments;
  }
  return {grid.simulate ? "simulate" : "train",
          ConfigOf(grid, run.point).string(),
          "--run-dir",
          run.dir.string(),
          "--set",
          fmt::format("run.seed={}", run.outcome.seed),
          "--set",
          fmt::format("run.name=\"{}\"", run.point.name)};
}

}  // namespace starling::sweep
