// The parts of a chart that the screen and tools/report share: round ticks for an axis, and the
// bars of a staleness histogram.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace starling::monitor {

struct Axis {
  double low = 0, high = 1;            // its ends; low < high
  std::vector<double> ticks;           // within [low, high], ascending
  std::vector<std::string> tick_text;  // a label per tick, all in one unit: "0", "0.5M", "1M"
};

// Returns an axis over [low, high] with about `wanted` ticks at 1, 2 or 5 times a power of ten.
// `round` moves the ends out to ticks. Equal ends are moved apart.
Axis MakeAxis(double low, double high, int wanted, bool round);

// A histogram of staleness in bins of equal width.
struct StalenessBins {
  // Bin i: gradients of staleness [i * width, (i + 1) * width).
  std::vector<std::uint64_t> counts{};
  std::uint64_t width = 1;
  bool open = false;  // the last bin also holds every larger staleness

  std::uint64_t total() const;
  double Share(std::size_t bin) const;  // of all gradients, 0 to 1; 0 without gradients
};

// histogram[i] is the number of gradients of staleness i. REQUIRES: bins >= 1, width >= 1.
StalenessBins BinStaleness(const std::vector<std::uint64_t>& histogram, std::size_t bins,
                           std::uint64_t width);

// Returns the least staleness that `permille` of 1000 gradients do not exceed; 0 without gradients.
std::uint64_t StalenessQuantile(const std::vector<std::uint64_t>& histogram,
                                std::uint64_t permille);

}  // namespace starling::monitor
