#include "results/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/check.h"
#include "core/random.h"

namespace starling::results {
namespace {

// The interquartile mean.
double SortAndTrim(std::span<double> values) {
  std::ranges::sort(values);
  const std::size_t left_out = values.size() / 4;
  return Mean(values.subspan(left_out, values.size() - 2 * left_out));
}

double QuantileOfSorted(std::span<const double> values, double of) {
  const double rank = of * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(rank);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return std::lerp(values[below], values[above], rank - std::floor(rank));
}

}  // namespace

double Mean(std::span<const double> values) {
  CHECK(!values.empty());
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double Median(std::vector<double> values) { return Quantile(std::move(values), 0.5); }

double InterquartileMean(std::vector<double> values) { return SortAndTrim(values); }

Spread SpreadOf(const std::vector<double>& values) {
  return {Mean(values), Median(values), InterquartileMean(values)};
}

bool IsPlausible(double value) { return std::abs(value) <= 1e15; }

std::string Decimals(double value) {
  const bool small = value != 0 && std::abs(value) < 0.1;
  return small ? fmt::format("{:.2g}", value) : fmt::format("{:.2f}", value);
}

double Quantile(std::vector<double> values, double of) {
  CHECK(!values.empty() && of >= 0 && of <= 1, "{} values, share {}", values.size(), of);
  std::ranges::sort(values);
  return QuantileOfSorted(values, of);
}

Interval Interval95(std::vector<double> values) {
  CHECK(!values.empty());
  std::ranges::sort(values);
  return {QuantileOfSorted(values, 0.025), QuantileOfSorted(values, 0.975)};
}

Bootstrap::Bootstrap(std::size_t runs, std::size_t draws, std::uint32_t stratum) : runs_(runs) {
  CHECK(runs > 0 && draws > 0, "{} runs, {} draws", runs, draws);
  RandomStream stream({.seed = 0, .slot = stratum, .purpose = Purpose::kBootstrap});
  drawn_.resize(draws * runs);
  for (std::uint32_t& index : drawn_) index = stream.Below(static_cast<std::uint32_t>(runs));
}

Interval Bootstrap::OfInterquartileMean(std::span<const double> values) const {
  CHECK(values.size() == runs_, "{} values of {} runs", values.size(), runs_);
  std::vector<double> means, drawn(runs_);
  means.reserve(drawn_.size() / runs_);
  for (std::size_t begin = 0; begin < drawn_.size(); begin += runs_) {
    for (std::size_t i = 0; i < runs_; ++i) drawn[i] = values[drawn_[begin + i]];
    means.push_back(SortAndTrim(drawn));
  }
  return Interval95(std::move(means));
}

}  // namespace starling::results
