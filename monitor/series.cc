#include "monitor/series.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/check.h"

namespace starling::monitor {
namespace {

using Values = std::vector<std::optional<double>>;

// A straight line from one known value to the next.
void FillGaps(Values& values) {
  std::optional<std::size_t> before;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!values[i]) continue;
    for (std::size_t gap = before ? *before + 1 : i; gap < i; ++gap) {
      const double part = static_cast<double>(gap - *before) / static_cast<double>(i - *before);
      values[gap] = *values[*before] + part * (*values[i] - *values[*before]);
    }
    before = i;
  }
}

}  // namespace

Series::Series(double span_s, std::size_t limit) : span_s_(span_s), limit_(limit) {
  CHECK(span_s > 0 && limit >= 2 && limit % 2 == 0, "{} s, {}", span_s, limit);
}

void Series::Add(double at_s, double value) {
  if (!std::isfinite(value) || !std::isfinite(at_s) || at_s < 0) return;
  while (at_s >= span_s_ * static_cast<double>(limit_)) Halve();
  const auto index = std::min(static_cast<std::size_t>(at_s / span_s_), limit_ - 1);
  if (index >= means_.size()) means_.resize(index + 1);
  means_[index].sum += value;
  means_[index].weight += 1;
  last_ = value;
}

void Series::Halve() {
  span_s_ *= 2;
  for (std::size_t i = 0; i < means_.size(); ++i) {
    const Mean mean = means_[i];
    if (i % 2 == 0) {
      means_[i / 2] = mean;
    } else {
      means_[i / 2].sum += mean.sum;
      means_[i / 2].weight += mean.weight;
    }
  }
  means_.resize((means_.size() + 1) / 2);
}

Values Series::Columns(double until_s, int columns) const {
  const auto count = static_cast<std::size_t>(std::max(0, columns));
  std::vector<Mean> parts(count);
  for (std::size_t i = 0; i < means_.size() && until_s > 0; ++i) {
    const double middle_s = (static_cast<double>(i) + 0.5) * span_s_;
    const double part = middle_s / until_s * static_cast<double>(count);
    if (part >= static_cast<double>(count)) break;
    Mean& mean = parts[static_cast<std::size_t>(part)];
    mean.sum += means_[i].sum;
    mean.weight += means_[i].weight;
  }
  Values values(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (parts[i].weight > 0) values[i] = parts[i].sum / parts[i].weight;
  }
  FillGaps(values);
  return values;
}

double NiceSpan(double elapsed_s) {
  constexpr double kMinute = 60, kHour = 3600, kDay = 86'400;
  constexpr std::array kSpans{15.0,         30.0,         kMinute,      2 * kMinute, 5 * kMinute,
                              10 * kMinute, 20 * kMinute, 30 * kMinute, kHour,       2 * kHour,
                              4 * kHour,    8 * kHour,    12 * kHour,   kDay};
  for (const double span : kSpans) {
    if (elapsed_s <= span) return span;
  }
  double days = 2;
  while (days * kDay < elapsed_s && days < 1e6) days *= 2;
  return days * kDay;
}

}  // namespace starling::monitor
