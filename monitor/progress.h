// The progress of a run as text, by pure functions: a bar that fits a terminal's width, and a plain
// line for other outputs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "learner/run_status.h"
#include "monitor/series.h"  // RateMeter: the rate of MakeProgress

namespace starling::monitor {

struct Progress {
  enum class Phase : std::uint8_t { kStarting, kWaiting, kRunning };
  Phase phase = Phase::kStarting;
  std::uint64_t steps = 0, total = 0;
  double steps_per_second = 0;  // over the last ten seconds; 0: not known yet
  std::optional<double> mean_return;
  double staleness_mean = 0;
  std::uint64_t staleness_max = 0;
  int actors_alive = 0, actors = 0;
};

// `status` is nullopt until the learner's first status line.
Progress MakeProgress(const std::optional<learner::RunStatus>& status, std::uint64_t total,
                      double steps_per_second, int actors);

struct ProgressStyle {
  int width = 80;      // columns of the terminal
  bool utf8 = false;   // block characters instead of # and -
  bool color = false;  // escape codes for colour
  int height = 24;     // rows of the terminal
};

// REQUIRES: steps_per_second > 0.
std::string TimeLeft(const Progress& progress);

// Returns a bar of so many columns, of which the first `fraction` is full.
std::string BarOf(double fraction, int columns, const ProgressStyle& style);

// Returns at most width - 1 columns, so that no terminal wraps it. Leaves out the least interesting
// parts first.
std::string ProgressBar(const Progress& progress, const ProgressStyle& style);

// Returns one plain line of any length.
std::string ProgressLine(const Progress& progress);

}  // namespace starling::monitor
