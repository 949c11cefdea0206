#include "net/norm.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace starling::net {
namespace {

// Many partial sums in a fixed order, so that the loop vectorises without -ffast-math.
template <class T>
double SumOfSquares(std::span<const T> values) {
  constexpr std::size_t kLanes = 64;
  double lanes[kLanes] = {};
  const T* const v = values.data();
  std::size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes) {
    for (std::size_t j = 0; j < kLanes; ++j) {
      const double x = v[i + j];
      lanes[j] += x * x;
    }
  }
  for (; i < values.size(); ++i) {
    const double x = v[i];
    lanes[i % kLanes] += x * x;
  }
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

template <class T>
FiniteNorm Check(std::span<const T> values) {
  const double sum = SumOfSquares(values);
  return {.finite = std::isfinite(sum), .norm = std::sqrt(sum)};
}

template <class T>
double Clip(std::span<T> gradient, double max_norm) {
  const FiniteNorm before = Check<T>(gradient);
  if (max_norm > 0 && before.finite && before.norm > max_norm) {
    const T factor = static_cast<T>(max_norm / before.norm);
    for (T& g : gradient) g *= factor;
  }
  return before.norm;
}

}  // namespace

FiniteNorm CheckFinite(std::span<const float> values, std::size_t counted) {
  counted = std::min(counted, values.size());
  FiniteNorm norm = Check(values.first(counted));
  norm.finite &= Check(values.subspan(counted)).finite;
  return norm;
}

double ClipByGlobalNorm(std::span<float> gradient, double max_norm) {
  return Clip(gradient, max_norm);
}
double ClipByGlobalNorm(std::span<double> gradient, double max_norm) {
  return Clip(gradient, max_norm);
}

}  // namespace starling::net
