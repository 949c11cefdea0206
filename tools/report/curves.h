// From the points that runs left behind to the curves of a group: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "results/run_record.h"

namespace starling::report {

struct Sample {
  double x = 0, y = 0;
  friend bool operator==(const Sample&, const Sample&) = default;
};
using Samples = std::vector<Sample>;  // x ascending

// Return against steps or seconds: the mean of the last 100 training episodes at each moment.
Samples ReturnBySteps(const results::LoadedRun& run);
Samples ReturnBySeconds(const results::LoadedRun& run);
Samples EvaluationBySteps(const results::LoadedRun& run);
// Steps per second against seconds: the mean of each of the equal parts of the run's time that are
// about `window_s` long (no fewer than one, no more than there are lines), at the middle of the
// part.
Samples Throughput(const results::LoadedRun& run, double window_s);

// Linear between neighbours, the first or last y outside. `samples` is not empty.
double At(const Samples& samples, double x);

// At most `most` (>= 2) of them, evenly picked, the first and the last among them.
Samples Thinned(const Samples& samples, std::size_t most);

// The interquartile mean over runs, and where it lies with 95 % confidence.
struct GroupCurve {
  Samples middle;
  std::vector<double> low, high;  // beside `middle`; empty for a single run
};
// At up to `points` places, evenly over the x that every run reaches; empty if there are none.
// `stratum` as in results/statistics.h.
GroupCurve Across(const std::vector<Samples>& runs, std::size_t points, std::uint32_t stratum);

}  // namespace starling::report
