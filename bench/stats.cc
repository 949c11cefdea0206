#include "bench/stats.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"

namespace starling::bench {

double Least(const std::vector<double>& values) { return Percentile(values, 0); }

double Most(const std::vector<double>& values) { return Percentile(values, 1); }

double Percentile(std::vector<double> values, double of) {
  CHECK(!values.empty() && of >= 0 && of <= 1, "{} values, share {}", values.size(), of);
  std::ranges::sort(values);
  const auto rank = static_cast<std::size_t>(std::ceil(of * static_cast<double>(values.size())));
  return values[std::max<std::size_t>(rank, 1) - 1];
}

double RelativeDistance(std::span<const float> values, std::span<const float> exact) {
  double difference = 0, length = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double value = values[i], wanted = exact[i];
    difference += (value - wanted) * (value - wanted);
    length += wanted * wanted;
  }
  return std::sqrt(difference / length);
}

}  // namespace starling::bench
