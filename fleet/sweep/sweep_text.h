// What the operator sees of a sweep that goes on: pure functions from numbers to text.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "fleet/progress.h"

namespace starling::fleet {

struct SweepProgress {
  int total = 0, done = 0, running = 0, failed = 0;
  std::optional<double> left_s;  // nothing until a run has finished
};

// At most width - 1 columns; what does not fit is left out, the least interesting first.
std::string SweepBar(const SweepProgress& progress, const ProgressStyle& style);

// Seconds until all is done, if every run takes as long as those that are finished did on average:
// `finished` each took so many seconds, `running` have gone on for so long, `waiting` have not
// begun, `at_once` run side by side. Nothing if none is finished.
std::optional<double> SweepTimeLeft(std::span<const double> finished,
                                    std::span<const double> running, int waiting, int at_once);

}  // namespace starling::fleet
