// What the operator sees of a sweep: pure functions from runs and numbers to text.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "monitor/progress.h"
#include "tools/sweep/grid.h"
#include "tools/sweep/runs.h"

namespace starling::sweep {

std::size_t Count(const std::vector<Run>& runs, results::RunState state);

// "sweep in sweeps/bounds: 6 runs (3 points, 2 seeds), 1 at a time; 2 done already"
std::string SweepHeadline(const Grid& grid, const std::vector<Run>& runs);

// The line of a run that has just finished, or failed; it took so many seconds.
std::string RunLine(const Grid& grid, const std::vector<Run>& runs, const Run& run, double seconds);

// The last lines: how many are done, and what to call next; `program` is how starling was called.
std::vector<std::string> WhatNext(const Grid& grid, const std::vector<Run>& runs,
                                  const std::string& program);

struct SweepProgress {
  int total = 0, done = 0, running = 0, failed = 0;
  std::optional<double> left_s;  // nothing until a run has finished
};

// At most width - 1 columns; what does not fit is left out, the least interesting first.
std::string SweepBar(const SweepProgress& progress, const monitor::ProgressStyle& style);

// Seconds until all is done, if every run takes as long as those that are finished did on average:
// `finished` each took so many seconds, `running` have gone on for so long, `waiting` have not
// begun, `at_once` run side by side. Nothing if none is finished.
std::optional<double> SweepTimeLeft(std::span<const double> finished,
                                    std::span<const double> running, int waiting, int at_once);

}  // namespace starling::sweep
