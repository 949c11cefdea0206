// The runs of a sweep: where each of them is, what is left to do for it, and the command that does it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "fleet/sweep/grid.h"
#include "fleet/sweep/job.h"
#include "fleet/sweep/outcome.h"
#include "fleet/sweep/run_state.h"

namespace starling::fleet {

struct Run {
  const GridPoint& point;
  RunOutcome& outcome;
  std::filesystem::path dir;
  Todo todo = Todo::kNothing;
  double before_s = 0;          // that it was trained earlier
  std::int64_t started_ms = 0;  // its child, on the clock of the sweep
  std::unique_ptr<Job> job{};
};

// Every run of the grid, open.
std::vector<PointOutcome> OpenOutcomes(const Grid& grid);

// The runs in the order in which they are to be started: seed by seed, so that every point is seen
// early. Those that are done already are marked so. `outcomes`, of OpenOutcomes, and `grid` must
// outlive them. Throws UserError if a directory among them holds something else (run_state.h).
std::vector<Run> PlanRuns(const Grid& grid, std::vector<PointOutcome>& outcomes);

Todo WhatIsLeft(const Grid& grid, const Run& run);

// Words for `starling` that do what is to be done for `run`; it is not kNothing.
std::vector<std::string> Arguments(const Grid& grid, const Run& run);

// Holds DIR/lock for as long as it lives: one sweep in a directory at a time. Makes the directory.
// Throws UserError if it cannot be written or another process has it.
class SweepLock {
 public:
  explicit SweepLock(const std::filesystem::path& dir);
  ~SweepLock();
  SweepLock(const SweepLock&) = delete;
  SweepLock& operator=(const SweepLock&) = delete;

 private:
  int fd_ = -1;
};

}  // namespace starling::fleet
