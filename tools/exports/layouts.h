// Weights of a net as other programs take them.
//
// Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "net/running.h"

namespace starling::exports {

// A kernel (KH, KW, CIN, COUT) as (COUT, CIN, KH, KW). `shape` is ours.
inline std::vector<float> OutputsFirst(std::span<const float> kernel,
                                       std::span<const std::int64_t> shape) {
  const auto cells = static_cast<std::size_t>(shape[0] * shape[1]);
  const auto in = static_cast<std::size_t>(shape[2]), out = static_cast<std::size_t>(shape[3]);
  std::vector<float> to;
  to.reserve(kernel.size());
  for (std::size_t o = 0; o < out; ++o) {
    for (std::size_t i = 0; i < in; ++i) {
      for (std::size_t cell = 0; cell < cells; ++cell) {
        to.push_back(kernel[(cell * in + i) * out + o]);
      }
    }
  }
  return to;
}

// How numbers are normalised: (number - mean) * scale.
struct Spreads {
  std::vector<double> means, scales;
};
inline Spreads SpreadsOf(std::span<const float> sums) {
  Spreads spreads;
  for (std::size_t at = 0; at < sums.size(); at += net::kSumsOfNumber) {
    const net::Spread spread = net::SpreadOf(sums.data() + at);
    spreads.means.push_back(spread.mean);
    spreads.scales.push_back(spread.scale);
  }
  return spreads;
}

}  // namespace starling::exports
