// Statistics over a few runs that differ in their seed: middle values and their confidence.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace starling::results {

// REQUIRES of all that follow: at least one value. The median of an even number of values is the
// mean of the middle two.
double Mean(std::span<const double> values);
double Median(std::vector<double> values);

// The mean of the middle half: leaves out a quarter of the values, rounded down, at either end; so
// of fewer than four all count. As in Agarwal et al., "Deep reinforcement learning at the edge
// of the statistical precipice", NeurIPS 2021.
double InterquartileMean(std::vector<double> values);

struct Spread {
  double mean = 0, median = 0, interquartile_mean = 0;
};
Spread SpreadOf(const std::vector<double>& values);

// Returns whether a number in a file can be of a run: finite, with at most 15 digits.
bool IsPlausible(double value);

// Two decimals; two significant digits for values nearer to zero than 0.1.
std::string Decimals(double value);

// Returns the value below which a share `of` in [0, 1] of the values lies, linear between
// neighbours: 0 gives the smallest, 0.5 the median, 1 the largest.
double Quantile(std::vector<double> values, double of);

struct Interval {
  double low = 0, high = 0;
  friend bool operator==(const Interval&, const Interval&) = default;
};

// The interval that holds 95 % of the values: 2.5 % are below, 2.5 % above. REQUIRES: some values.
Interval Interval95(std::vector<double> values);

inline constexpr std::size_t kDraws = 10'000;  // of a bootstrap, for a number in a table

// The stratified bootstrap of Agarwal et al.: draws the seeds of one group with replacement,
// `draws` times. A stratum is a group; `stratum` is its number, so that no two groups share draws.
// Equal arguments give equal draws on every machine.
class Bootstrap {
 public:
  Bootstrap(std::size_t runs, std::size_t draws, std::uint32_t stratum);

  // The interval of the interquartile mean over the draws. `values` has one value per run.
  Interval OfInterquartileMean(std::span<const double> values) const;

  // The runs of draw `number`, in [0, draws).
  std::span<const std::uint32_t> Draw(std::size_t number) const {
    return std::span(drawn_).subspan(number * runs_, runs_);
  }

 private:
  std::size_t runs_;
  std::vector<std::uint32_t> drawn_;  // (draws, runs): indices of runs
};

}  // namespace starling::results
