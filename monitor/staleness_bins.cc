#include "monitor/staleness_bins.h"

#include <algorithm>
#include <numeric>

namespace starling::monitor {
namespace {

std::uint64_t Sum(const std::vector<std::uint64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

}  // namespace

std::uint64_t StalenessBins::total() const { return Sum(counts); }

double StalenessBins::Share(std::size_t bin) const {
  const auto all = static_cast<double>(std::max<std::uint64_t>(total(), 1));
  return static_cast<double>(counts[bin]) / all;
}

StalenessBins BinStaleness(const std::vector<std::uint64_t>& histogram, std::size_t bins,
                           std::uint64_t width) {
  StalenessBins result{.counts = std::vector<std::uint64_t>(bins), .width = width};
  for (std::size_t tau = 0; tau < histogram.size(); ++tau) {
    result.counts[std::min<std::size_t>(tau / width, bins - 1)] += histogram[tau];
  }
  result.open = histogram.size() > bins * width;
  return result;
}

std::uint64_t StalenessQuantile(const std::vector<std::uint64_t>& histogram,
                                std::uint64_t permille) {
  const std::uint64_t total = Sum(histogram);
  std::uint64_t sum = 0;
  for (std::size_t tau = 0; tau < histogram.size(); ++tau) {
    sum += histogram[tau];
    if (1000 * sum >= permille * total) return tau;
  }
  return 0;
}

}  // namespace starling::monitor
