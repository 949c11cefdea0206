// Repeated timings, and their medians.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/clock.h"

namespace starling::bench {

// Of at least one value (CHECKed); Median of an even number is the mean of the two in the middle.
double Median(std::vector<double> values);
double Least(const std::vector<double>& values);
double Most(const std::vector<double>& values);
double Mean(const std::vector<double>& values);
// The value that a share of `of` (in [0, 1]) of them does not exceed: 0.5 is about the median.
double Percentile(std::vector<double> values, double of);

// "43.1, 44.0": one decimal.
std::string Listed(const std::vector<double>& values);

// Nanoseconds that `work` takes once.
template <class Work>
double TimeNs(const Work& work) {
  const SteadyClock clock;
  const std::int64_t begin = clock.NowNs();
  work();
  return static_cast<double>(clock.NowNs() - begin);
}

inline constexpr std::size_t kMinRepeats = 15;

// `work` once to warm up, then again and again for `seconds` and at least kMinRepeats times:
// nanoseconds of each.
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
