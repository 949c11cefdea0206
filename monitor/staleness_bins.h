// A histogram of staleness in bins of equal width: the bars of the screen and of a report.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace starling::monitor {

struct StalenessBins {
  std::vector<std::uint64_t>
      counts{};  // bin i: gradients of staleness [i * width, (i + 1) * width)
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
