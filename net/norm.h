// L2 norms of whole gradients: one fast pass in a fixed order, so equal floats give equal bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace starling::net {

struct FiniteNorm {
  bool finite = false;
  double norm = 0;  // L2; NaN or infinity if not finite
};

// Whether every float is finite, and the L2 norm of the first `counted`: those behind them are
// running sums, not a gradient. Squares are summed in double, which as many floats as fit in memory
// cannot overflow. So a sum is finite exactly if all its floats are.
FiniteNorm CheckFinite(std::span<const float> values, std::size_t counted = SIZE_MAX);

// Scales `gradient` so that its L2 norm is at most `max_norm`, to rounding (0: off). Returns the
// norm before scaling. A gradient that is not finite stays unchanged; the learner refuses it.
double ClipByGlobalNorm(std::span<float> gradient, double max_norm);
double ClipByGlobalNorm(std::span<double> gradient, double max_norm);

}  // namespace starling::net
