// Norms of whole gradients: one pass, fast, and the same bits for the same floats.
#pragma once

#include <span>

namespace starling::net {

struct FiniteNorm {
  bool finite = false;
  double norm = 0;  // L2; NaN or infinity if not finite
};

// Is every float finite, and the L2 norm: squares are summed in double, which no float and no
// number of floats that fits in memory can overflow, so the sum is finite exactly if all of them
// are.
FiniteNorm CheckFinite(std::span<const float> values);

// Scales `gradient` so that its L2 norm is at most `max_norm`, to rounding (0: off); returns the
// norm before. A gradient that is not finite is left as it is, for its receiver to refuse.
double ClipByGlobalNorm(std::span<float> gradient, double max_norm);
double ClipByGlobalNorm(std::span<double> gradient, double max_norm);

}  // namespace starling::net
