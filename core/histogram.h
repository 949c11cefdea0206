// A histogram of whole numbers. The staleness of every applied gradient is counted in one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace starling {

// Exact counts for the values 0 .. kLimit - 1. Bin kLimit counts all larger values; max and mean
// are exact for them, too.
class Histogram {
 public:
  static constexpr std::uint64_t kLimit = 4096;

  Histogram() = default;
  // Restores a histogram that was saved as (counts, max, mean).
  Histogram(std::vector<std::uint64_t> counts, std::uint64_t max, double mean)
      : counts_(std::move(counts)),
        total_(std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0})),
        max_(max),
        sum_(mean * static_cast<double>(total_)) {}

  void Add(std::uint64_t value, std::uint64_t times = 1) {
    if (times == 0) return;
    const std::size_t bin = std::min(value, kLimit);
    if (bin >= counts_.size()) counts_.resize(bin + 1);
    counts_[bin] += times;
    total_ += times;
    max_ = std::max(max_, value);
    sum_ += static_cast<double>(value) * static_cast<double>(times);
  }

  std::uint64_t total() const { return total_; }
  std::uint64_t max() const { return max_; }
  double mean() const { return total_ == 0 ? 0.0 : sum_ / static_cast<double>(total_); }
  // Counts of value 0, 1, ... up to the largest seen; at most kLimit + 1 bins.
  const std::vector<std::uint64_t>& counts() const { return counts_; }

 private:
  std::vector<std::uint64_t> counts_;
  std::uint64_t total_ = 0, max_ = 0;
  double sum_ = 0;
};

}  // namespace starling
