// Curves of runs and groups: pure functions of the points in the files of runs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "monitor/svg/plot.h"
#include "results/run_record.h"

namespace starling::report {

using monitor::GroupCurve;
using monitor::Sample;
using monitor::Samples;

// Mean return of the last 100 training episodes, by steps or seconds.
Samples ReturnBySteps(const results::LoadedRun& run);
Samples ReturnBySeconds(const results::LoadedRun& run);
Samples EvaluationBySteps(const results::LoadedRun& run);
// Steps per second by seconds. Divides the run's time into equal parts of about `window_s` (at
// least one, at most as many as there are lines); a sample is the mean of a part, at its middle.
Samples Throughput(const results::LoadedRun& run, double window_s);

// Linear between neighbours, the first or last y outside. REQUIRES: `samples` is not empty.
double At(const Samples& samples, double x);

// Returns at most `most` samples, evenly spaced by index, with the first and the last. REQUIRES:
// most >= 2.
Samples Thinned(const Samples& samples, std::size_t most);

// The interquartile mean over runs, with its 95 % interval.
// At up to `points` places, evenly over the x that every run covers; empty if there are none.
// `stratum` as in results/statistics.h.
GroupCurve Across(const std::vector<Samples>& runs, std::size_t points, std::uint32_t stratum);

}  // namespace starling::report
