// What the operator sees while a run goes on: pure functions from numbers to text. The bar for a
// terminal fits its width, the line for anything else is plain.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "learner/status.h"
#include "monitor/window.h"  // RateMeter: the rate of MakeProgress

namespace starling::monitor {

struct Progress {
  enum class Phase : std::uint8_t { kStarting, kWaiting, kRunning };
  Phase phase = Phase::kStarting;
  std::uint64_t steps = 0, total = 0;
  double steps_per_second = 0;  // of late; 0 = not known yet
  std::optional<double> mean_return;
  double staleness_mean = 0;
  std::uint64_t staleness_max = 0;
  int actors_alive = 0, actors = 0;
};

// `status` is absent until the learner has said something.
Progress MakeProgress(const std::optional<learner::LearnerStatus>& status, std::uint64_t total,
                      double steps_per_second, int actors);

struct ProgressStyle {
  int width = 80;      // columns of the terminal
  bool utf8 = false;   // block characters instead of # and -
  bool color = false;  // escape codes for colour
  int height = 24;     // rows of the terminal
};

std::string TimeLeft(const Progress& progress);  // at its rate, which is not 0

// So many columns, the first `fraction` of them full.
std::string BarOf(double fraction, int columns, const ProgressStyle& style);

// At most width - 1 columns, so that no terminal wraps it; what does not fit is left out, the least
// interesting first.
std::string ProgressBar(const Progress& progress, const ProgressStyle& style);

// One plain line, whatever its length.
std::string ProgressLine(const Progress& progress);

}  // namespace starling::monitor
