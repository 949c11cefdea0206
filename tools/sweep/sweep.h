// `starling sweep GRID.toml`: runs `starling train` or `starling simulate` for every point of a
// grid and every seed, `at_once` runs at a time, and evaluates each run at its end. A second call
// continues where the first stopped.
//
//   DIR/lock         held while a sweep runs here: one sweep per directory
//   DIR/sweep.json   results so far (tools/sweep/outcome.h), rewritten after each run
//   DIR/POINT/point.toml   the checked configuration of its runs
//   DIR/POINT/seed-N/   a run like any other, with final_eval.json
//   DIR/old/POINT/seed-N/   replaced runs: a sweep deletes nothing
//
// Must run in the main thread: the kernel ends the children with the thread that started them.
#pragma once

#include <filesystem>
#include <string>

#include "core/clock.h"

namespace starling::sweep {

struct SweepOptions {
  std::filesystem::path grid;
  std::string program = "starling";  // as called, for the hints at the end
};

// Prints the table of all points on standard output. Returns the exit status: 1 if a run failed,
// 130 if it was interrupted. Throws UserError before it starts any run. Measures all times by
// `clock`.
int RunSweep(const SweepOptions& options, const Clock& clock = SteadyClock());

}  // namespace starling::sweep
