// Random shapes for the ops; shared by the gradient proofs and by the comparison of the backends.
#pragma once

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <string>

#include "net/backend.h"
#include "tests/net/arrays.h"

namespace starling::net::testing {

struct ShapeRange {
  int samples, features;        // linear: up to
  int side, channels, kernels;  // convolution: up to
  int kernel, stride;
};

struct LinearCase {
  LinearShape shape;
  int n;
  std::string Name() const { return fmt::format("linear n={} {}->{}", n, shape.in, shape.out); }
};

inline LinearCase RandomLinear(RandomStream& random, const ShapeRange& range) {
  return {{Between(random, 1, range.features), Between(random, 1, range.features)},
          Between(random, 1, range.samples)};
}

struct ConvCase {
  ConvShape shape;
  int n;
  std::string Name() const {
    const ConvShape& s = shape;
    return fmt::format("conv n={} {}x{}x{} kernel {}x{} stride {} -> {}", n, s.height, s.width,
                       s.in_channels, s.kernel_height, s.kernel_width, s.stride, s.out_channels);
  }
};

inline ConvCase RandomConv(RandomStream& random, const ShapeRange& range) {
  ConvShape s;
  s.kernel_height = Between(random, 1, range.kernel);
  s.kernel_width = Between(random, 1, range.kernel);
  s.height = Between(random, s.kernel_height, range.side);
  s.width = Between(random, s.kernel_width, range.side);
  s.stride = Between(random, 1, range.stride);
  s.in_channels = Between(random, 1, range.channels);
  s.out_channels = Between(random, 1, range.kernels);
  return {s, Between(random, 1, range.samples)};
}

}  // namespace starling::net::testing
