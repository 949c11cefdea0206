// Repeated timings and their statistics, beside those of results/statistics.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/clock.h"
#include "results/statistics.h"

namespace starling::bench {

using results::Mean, results::Median;

// REQUIRES: at least one value.
double Least(const std::vector<double>& values);
double Most(const std::vector<double>& values);
// Returns the smallest value that a share `of` of the values, in [0, 1], does not exceed.
double Percentile(std::vector<double> values, double of);

// Returns the length of the difference relative to the length of `exact`.
double RelativeDistance(std::span<const float> values, std::span<const float> exact);

// Returns the nanoseconds of one call of `work`.
template <class Work>
double TimeNs(const Work& work) {
  const SteadyClock clock;
  const std::int64_t begin = clock.NowNs();
  work();
  return static_cast<double>(clock.NowNs() - begin);
}

inline constexpr std::size_t kMinRepeats = 15;

// Calls `work` once to warm up, then for `seconds` and at least kMinRepeats times. Returns the
// nanoseconds of each call.
template <class Work>
std::vector<double> TimeManyNs(double seconds, const Work& work) {
  work();
  std::vector<double> times;
  for (double spent = 0; spent < seconds * 1e9 || times.size() < kMinRepeats;) {
    times.push_back(TimeNs(work));
    spent += times.back();
  }
  return times;
}

}  // namespace starling::bench
