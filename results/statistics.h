// What a few runs that differ in their seed say together, and how sure that is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace starling::results {

// Of at least one value (CHECKed). Median of an even number is the mean of the two in the middle.
double Mean(std::span<const double> values);
double Median(std::vector<double> values);

// The mean of the middle half: a quarter of the values, rounded down, is left out at either end, so
// that of fewer than four all count. As in Agarwal et al., "Deep reinforcement learning at the edge
// of the statistical precipice", NeurIPS 2021.
double InterquartileMean(std::vector<double> values);

struct Spread {
  double mean = 0, median = 0, interquartile_mean = 0;
};
Spread SpreadOf(const std::vector<double>& values);

// Whether a number read from a file can be one of a run: finite, and of no more than 15 digits.
bool IsPlausible(double value);

// Two decimals; of what is nearer to zero than 0.1, two significant digits.
std::string Decimals(double value);

// The value that a share `of` in [0, 1] of them lies below, linear between neighbours: 0 is the
// least, 0.5 the median, 1 the largest.
double Quantile(std::vector<double> values, double of);

struct Interval {
  double low = 0, high = 0;
  friend bool operator==(const Interval&, const Interval&) = default;
};

// The seeds of one group drawn anew, with replacement, again and again: the stratified bootstrap of
// Agarwal et al., whose strata are our groups. `stratum` numbers the group, so that no two groups
// share draws; equal arguments give equal draws, on every machine.
class Bootstrap {
 public:
  Bootstrap(std::size_t runs, std::size_t draws, std::uint32_t stratum);

  // Where the interquartile mean of 95 % of the draws lies (2.5 % below, 2.5 % above). `values` are
  // those of the runs, in order.
  Interval OfInterquartileMean(std::span<const double> values) const;

 private:
  std::size_t runs_;
  std::vector<std::uint32_t> drawn_;  // (draws, runs): indices of runs
};

}  // namespace starling::results
