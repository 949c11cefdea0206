// The runs of a sweep: the directory, the next task and the command line of each.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "results/locked_file.h"
#include "tools/sweep/grid.h"
#include "tools/sweep/job.h"
#include "tools/sweep/outcome.h"
#include "tools/sweep/what_is_left.h"

namespace starling::sweep {

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
results::LockedFile OpenLock(const Grid& grid);

// Returns an outcome for every run of the grid, all of them kNotBegun.
std::vector<PointOutcome> OpenOutcomes(const Grid& grid);

// Returns the runs in the order in which they start: seed by seed, so that every point has a result
// early. Updates `outcomes` (of OpenOutcomes) from the directories. Throws UserError if a
// directory holds something else (what_is_left.h).
// REQUIRES: `grid` and `outcomes` outlive the runs.
std::vector<Run> PlanRuns(const Grid& grid, std::vector<PointOutcome>& outcomes);

// Inspects the run's directory again, as hours may have passed since PlanRuns, and prepares it.
// A run that cannot be resumed is moved aside: returns its new directory, otherwise "". Throws
// std::runtime_error with a sentence for the operator if the run cannot start.
std::filesystem::path MakeReady(const Grid& grid, Run& run);

Todo WhatIsLeft(const Grid& grid, const Run& run);

// Returns the arguments of `starling` for the next task of `run`. REQUIRES: run.todo != kNothing.
std::vector<std::string> Arguments(const Grid& grid, const Run& run);

}  // namespace starling::sweep
