#include "bench/stats.h"

#include <fmt/format.h>

#include <algorithm>

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

std::string Listed(const std::vector<double>& values) {
  std::string text;
  for (const double value : values) {
    text += fmt::format("{}{:.1f}", text.empty() ? "" : ", ", value);
  }
  return text;
}

}  // namespace starling::bench
