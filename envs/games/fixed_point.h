// Fixed-point numbers: whole multiples of 2^-24. Games of physics count in them, because every
// machine, compiler and GPU computes the same ones. REQUIRES: all values, products too, are between
// -2^14 and 2^14.
#pragma once

#include <compare>
#include <cstdint>

namespace starling::envs {

struct FixedPoint {
  static constexpr std::int64_t kOne = std::int64_t{1} << 24;

  std::int64_t parts = 0;  // of kOne

  constexpr FixedPoint() = default;
  // Constants become the nearest number, while compiling: a GPU might round in another way.
  consteval FixedPoint(double value)  // NOLINT(google-explicit-constructor)
      : parts(static_cast<std::int64_t>(value * kOne + (value < 0 ? -0.5 : 0.5))) {}
  static constexpr FixedPoint OfParts(std::int64_t parts) {
    FixedPoint number;
    number.parts = parts;
    return number;
  }
  constexpr explicit operator float() const {
    return static_cast<float>(parts) / static_cast<float>(kOne);
  }

  friend constexpr FixedPoint operator-(FixedPoint a) { return OfParts(-a.parts); }
  friend constexpr FixedPoint operator+(FixedPoint a, FixedPoint b) {
    return OfParts(a.parts + b.parts);
  }
  friend constexpr FixedPoint operator-(FixedPoint a, FixedPoint b) {
    return OfParts(a.parts - b.parts);
  }
  // Products are rounded down, quotients towards 0.
  friend constexpr FixedPoint operator*(FixedPoint a, FixedPoint b) {
    return OfParts((a.parts * b.parts) >> 24);
  }
  friend constexpr FixedPoint operator/(FixedPoint a, FixedPoint b) {
    return OfParts(a.parts * kOne / b.parts);
  }
  friend constexpr auto operator<=>(const FixedPoint&, const FixedPoint&) = default;
};

// Taylor's polynomials. REQUIRES: |x| <= 0.3; then the error is at most three parts.
constexpr FixedPoint Sine(FixedPoint x) {
  const FixedPoint square = x * x;
  return x * (1.0 - square / 6.0 * (1.0 - square / 20.0 * (1.0 - square / 42.0)));
}
constexpr FixedPoint Cosine(FixedPoint x) {
  const FixedPoint square = x * x;
  return 1.0 - square / 2.0 * (1.0 - square / 12.0 * (1.0 - square / 30.0));
}

}  // namespace starling::envs
