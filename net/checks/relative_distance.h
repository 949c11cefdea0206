// The distance between two computations of the same numbers.
#pragma once

#include <cmath>
#include <cstddef>
#include <span>

namespace starling::net {

// Returns the length of the difference relative to the length of `exact`, an array of equal size: 0
// if they are equal, infinite if only `exact` is all zeros, NaN if a value is.
inline double RelativeDistance(std::span<const float> values, std::span<const float> exact) {
  double difference = 0, length = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double value = values[i], wanted = exact[i];
    difference += (value - wanted) * (value - wanted);
    length += wanted * wanted;
  }
  return difference == 0 ? 0 : std::sqrt(difference / length);
}

}  // namespace starling::net
