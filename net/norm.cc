#include "net/norm.h"

#include <cmath>
#include <cstddef>

namespace starling::net {
namespace {

// Partial sums in a fixed order, so that the loop vectorises without -ffast-math.
double SumOfSquares(std::span<const float> values) {
  constexpr std::size_t kLanes = 64;
  double lanes[kLanes] = {};
  const float* const v = values.data();
  std::size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes) {
    for (std::size_t j = 0; j < kLanes; ++j) {
      const double x = static_cast<double>(v[i + j]);
      lanes[j] += x * x;
    }
  }
  for (; i < values.size(); ++i) {
    const double x = static_cast<double>(v[i]);
    lanes[i % kLanes] += x * x;
  }
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

}  // namespace

FiniteNorm CheckFinite(std::span<const float> values) {
  const double sum = SumOfSquares(values);
  return {.finite = std::isfinite(sum), .norm = std::sqrt(sum)};
}

double ClipByGlobalNorm(std::span<float> gradient, double max_norm) {
  const FiniteNorm before = CheckFinite(gradient);
  if (max_norm > 0 && before.finite && before.norm > max_norm) {
    const float factor = static_cast<float>(max_norm / before.norm);
    for (float& g : gradient) g *= factor;
  }
  return before.norm;
}

}  // namespace starling::net
