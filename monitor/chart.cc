#include "monitor/chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <string_view>
#include <utility>

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

}  // namespace starling::monitor
