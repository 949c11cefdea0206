// `starling sweep GRID.toml`: a `starling train`, or a `starling simulate`, for every point of a
// grid and every seed, so many at a time, each evaluated at its end. Called again, it goes on where
// it stopped.
//
//   DIR/lock         held while a sweep runs here: one at a time
//   DIR/sweep.json   what has become of every run (tools/sweep/outcome.h), after each of them
//   DIR/POINT/point.toml   the configuration that was tried out: what its runs train
//   DIR/POINT/seed-N/   a run like any other, with final_eval.json
//   DIR/old/POINT/seed-N/   what made room for it: a sweep deletes nothing
//
// Must run in the main thread: the kernel ends the children with the thread that started them.
#pragma once

#include <filesystem>
#include <string>

namespace starling::sweep {

struct SweepOptions {
  std::filesystem::path grid;
  std::string program = "starling";  // how to call it again, for the hints at the end
};

// Prints the table of all points on standard output. Returns the exit status: 1 if a run failed,
// 130 if it was interrupted. Throws UserError before anything is started.
int RunSweep(const SweepOptions& options);

}  // namespace starling::sweep
