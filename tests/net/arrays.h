// Random arrays and comparisons for the tests of net/.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "core/random.h"

namespace starling::net::testing {

template <class T>
std::vector<T> Normals(RandomStream& random, int count, double scale = 1.0) {
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& v : values) v = static_cast<T>(scale * static_cast<double>(random.Normal()));
  return values;
}

// Zero but for a share of `density` of ones.
template <class T>
std::vector<T> Cells(RandomStream& random, int count, double density) {
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& v : values) v = random.UniformDouble() < density ? T(1) : T(0);
  return values;
}

inline int Between(RandomStream& random, int low, int high) {
  return low + static_cast<int>(random.Below(static_cast<std::uint32_t>(high - low + 1)));
}

// Largest difference, relative to the largest magnitude of `expected`.
template <class A, class B>
double RelativeError(const A& actual, const B& expected) {
  EXPECT_EQ(actual.size(), expected.size());
  double difference = 0, magnitude = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double a = static_cast<double>(actual[i]), e = static_cast<double>(expected[i]);
    if (!std::isfinite(a)) return INFINITY;
    difference = std::max(difference, std::fabs(a - e));
    magnitude = std::max(magnitude, std::fabs(e));
  }
  return difference == 0 ? 0 : difference / magnitude;
}

// d loss / d x[i] by a central difference.
template <class Loss>
double CentralDifference(std::vector<double>& x, std::size_t i, Loss loss) {
  constexpr double kStep = 1e-5;
  const double middle = x[i];
  x[i] = middle + kStep;
  const double above = loss();
  x[i] = middle - kStep;
  const double below = loss();
  x[i] = middle;
  return (above - below) / (2 * kStep);
}

// Every gradient[i] against the central difference of loss() in x[i], in double. The tolerance is
// relative to the gradient, or to 1 where that is smaller.
template <class Loss>
void ExpectGradient(const char* what, std::vector<double>& x, const std::vector<double>& gradient,
                    Loss loss, double tolerance = 1e-7) {
  ASSERT_EQ(x.size(), gradient.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double difference = CentralDifference(x, i, loss);
    ASSERT_NEAR(gradient[i], difference, tolerance * std::max(1.0, std::fabs(difference)))
        << what << "[" << i << "]";
  }
}

}  // namespace starling::net::testing
