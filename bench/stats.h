// Repeated timings and their statistics, beside those of results/statistics.h.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/check.h"
#include "core/clock.h"
#include "results/statistics.h"

namespace starling::bench {

using results::Mean, results::Median;

// Returns the smallest value that a share `of` of the values, in [0, 1], does not exceed. REQUIRES:
// at least one value.
inline double Percentile(std::vector<double> values, double of) {
  CHECK(!values.empty() && of >= 0 && of <= 1, "{} values, share {}", values.size(), of);
  std::ranges::sort(values);
  const auto rank = static_cast<std::size_t>(std::ceil(of * static_cast<double>(values.size())));
  return values[std::max<std::size_t>(rank, 1) - 1];
}
inline double Least(const std::vector<double>& values) { return Percentile(values, 0); }
inline double Most(const std::vector<double>& values) { return Percentile(values, 1); }

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

// Returns the nanoseconds in which memcpy copies `floats` floats.
inline double CopyNs(std::size_t floats, double seconds) {
  const std::vector<float> from(floats, 0.5f);
  std::vector<float> to(floats);
  return Median(TimeManyNs(seconds, [&] {
    std::memcpy(to.data(), from.data(), floats * sizeof(float));
    asm volatile("" : : "r"(to.data()) : "memory");
  }));
}

}  // namespace starling::bench
