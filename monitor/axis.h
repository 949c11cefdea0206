// Where the marks of an axis are, and what is written at them.
#pragma once

#include <string>
#include <vector>

namespace starling::monitor {

struct Axis {
  double low = 0, high = 1;            // what is drawn; low < high
  std::vector<double> ticks;           // within it, ascending
  std::vector<std::string> tick_text;  // one each, all of them in the same unit: "0", "0.5M", "1M"
};

// An axis over [low, high] with about `wanted` ticks at 1, 2 or 5 times a power of ten; `round`
// moves the ends out to ticks. Ends that are equal are moved apart.
Axis MakeAxis(double low, double high, int wanted, bool round);

}  // namespace starling::monitor
