#include "bench/stats.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/check.h"

namespace starling::bench {

double Median(std::vector<double> values) {
  CHECK(!values.empty());
  std::ranges::sort(values);
  const std::size_t n = values.size();
  return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

double Least(const std::vector<double>& values) {
  CHECK(!values.empty());
  return *std::ranges::min_element(values);
}

double Most(const std::vector<double>& values) {
  CHECK(!values.empty());
  return *std::ranges::max_element(values);
}

double Mean(const std::vector<double>& values) {
  CHECK(!values.empty());
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

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

std::string Listed(const std::vector<double>& values) {
  std::string text;
  for (const double value : values) {
    text += fmt::format("{}{:.1f}", text.empty() ? "" : ", ", value);
  }
  return text;
}

}  // namespace starling::bench
