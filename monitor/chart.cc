#include "monitor/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string_view>

#include "core/check.h"

namespace starling::monitor {
namespace {

double NiceStep(double range, int wanted) {
  const double rough = range / wanted;
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough * 0.999) return factor * power;
  }
  return 10 * power;
}

std::pair<double, std::string_view> UnitFor(double largest) {
  constexpr std::array<std::pair<double, std::string_view>, 3> kUnits{
      {{1e9, "G"}, {1e6, "M"}, {1e4, "k"}}};
  for (const auto& [least, name] : kUnits) {
    if (largest >= least) return {name == "k" ? 1e3 : least, name};
  }
  return {1, ""};
}

std::uint64_t Sum(const std::vector<std::uint64_t>& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

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

Axis MakeAxis(double low, double high, int wanted, bool round) {
  // 1. Move equal ends apart.
  const double least = std::max({std::abs(low), std::abs(high), 1.0}) * 1e-9;
  if (high - low < least) {
    const double apart = std::max(std::abs(low) * 0.05, 0.5);
    low -= apart;
    high += apart;
  }
  // 2. Choose the distance of the ticks, and round the ends.
  const double step = NiceStep(high - low, wanted);
  if (round) {
    low = std::floor(low / step + 1e-9) * step;
    high = std::ceil(high / step - 1e-9) * step;
  }
  // 3. Label every tick in the unit that suits the larger end.
  const auto [unit, name] = UnitFor(std::max(std::abs(low), std::abs(high)));
  const int decimals = std::max(0, static_cast<int>(std::ceil(-std::log10(step / unit) - 1e-9)));
  Axis axis{.low = low, .high = high, .ticks = {}, .tick_text = {}};
  const double first = std::ceil(low / step - 1e-9);
  for (double i = first; i * step <= high + step * 1e-9; ++i) {
    const double tick = i * step;
    axis.ticks.push_back(tick);
    axis.tick_text.push_back(i == 0 ? "0" : fmt::format("{:.{}f}{}", tick / unit, decimals, name));
  }
  return axis;
}

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

TimeUnit TimeUnitFor(double longest_s) {
  if (longest_s > 2 * 3600) return {3600, "h"};
  if (longest_s > 5 * 60) return {60, "min"};
  return {1, "s"};
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
