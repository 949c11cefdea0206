// The runs of a sweep: where each of them is, what is left to do for it, and the command that does
// it.
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
  double before_s = 0;          // that it was trained earlier
  std::int64_t started_ms = 0;  // its child, on the clock of the sweep
  std::unique_ptr<Job> job{};
  std::filesystem::file_time_type summary_time{};  // of summary.json when the job started

  bool open() const {
    return outcome.state == results::RunState::kNotBegun ||
           outcome.state == results::RunState::kUnfinished;
  }
  std::string name() const;  // "bound=4 seed 2"
};

// DIR/lock, held while a sweep runs there. Makes the directory; throws UserError if it cannot be
// written.
results::LockedFile OpenLock(const Grid& grid);

// Every run of the grid, not begun.
std::vector<PointOutcome> OpenOutcomes(const Grid& grid);

// The runs in the order in which they are to be started: seed by seed, so that every point is seen
// early. `outcomes`, of OpenOutcomes, tell afterwards which of them are finished or begun; they and
// `grid` must outlive the runs. Throws UserError if a directory among them holds something else
// (what_is_left.h).
std::vector<Run> PlanRuns(const Grid& grid, std::vector<PointOutcome>& outcomes);

// Looks at its directory anew, hours after the plan was made. What leads nowhere makes room: it is
// moved, and where to is returned, otherwise "". Throws std::runtime_error, with a sentence, if the
// run can not be started.
std::filesystem::path MakeReady(const Grid& grid, Run& run);

Todo WhatIsLeft(const Grid& grid, const Run& run);

// Words for `starling` that do what is to be done for `run`; it is not kNothing.
std::vector<std::string> Arguments(const Grid& grid, const Run& run);

}  // namespace starling::sweep
