// Round ticks for an axis, and their labels.
#pragma once

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

}  // namespace starling::monitor
