// The text that a sweep prints: pure functions of runs and numbers.
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

// The line for a run that has just finished or failed after `seconds`.
std::string RunLine(const Grid& grid, const std::vector<Run>& runs, const Run& run, double seconds);

// The last lines: the number of finished runs and the next commands, with `program` as called.
std::vector<std::string> WhatNext(const Grid& grid, const std::vector<Run>& runs,
                                  const std::string& program);

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
