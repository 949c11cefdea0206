#include "core/histogram.h"

#include <algorithm>
#include <utility>

namespace starling {

void Histogram::Add(std::uint64_t value, std::uint64_t times) {
  if (times == 0) return;
  const std::size_t bin = std::min(value, kLimit);
  if (bin >= counts_.size()) counts_.resize(bin + 1);
  counts_[bin] += times;
  total_ += times;
  max_ = std::max(max_, value);
  sum_ += static_cast<double>(value) * static_cast<double>(times);
}

Histogram Histogram::Restore(std::vector<std::uint64_t> counts, std::uint64_t max, double mean) {
  Histogram histogram;
  histogram.counts_ = std::move(counts);
  for (const std::uint64_t count : histogram.counts_) histogram.total_ += count;
  histogram.max_ = max;
  histogram.sum_ = mean * static_cast<double>(histogram.total_);
  return histogram;
}

}  // namespace starling
