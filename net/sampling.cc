// Acting from logits; declared in net/loss.h.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "core/check.h"
#include "net/loss.h"

namespace starling::net {
namespace {

template <class T>
void Sample(int n, int actions, std::span<const T> logits, std::span<const float> uniforms,
            std::span<std::int32_t> taken) {
  const auto samples = static_cast<std::size_t>(n), width = static_cast<std::size_t>(actions);
  CHECK(logits.size() == samples * width && uniforms.size() == samples && taken.size() == samples);
  std::vector<T> mass(width);
  for (std::size_t i = 0; i < samples; ++i) {
    const T* const z = &logits[i * width];
    const T top = *std::max_element(z, z + width);
    T total = 0;
    for (std::size_t a = 0; a < width; ++a) {
      mass[a] = std::exp(z[a] - top);
      total += mass[a];
    }
    // The first action whose cumulated mass exceeds u * total. Rounding may lift u * total to
    // total: then the last action that has any mass is it.
    const T target = static_cast<T>(uniforms[i]) * total;
    T below = 0;
    std::size_t chosen = 0;
    for (std::size_t a = 0; a < width; ++a) {
      if (mass[a] > T(0)) chosen = a;
      below += mass[a];
      if (below > target) break;
    }
    taken[i] = static_cast<std::int32_t>(chosen);
  }
}

}  // namespace

void SampleActions(int n, int actions, std::span<const float> logits,
                   std::span<const float> uniforms, std::span<std::int32_t> taken) {
  Sample(n, actions, logits, uniforms, taken);
}
void SampleActions(int n, int actions, std::span<const double> logits,
                   std::span<const float> uniforms, std::span<std::int32_t> taken) {
  Sample(n, actions, logits, uniforms, taken);
}

void GreedyActions(int n, int actions, std::span<const float> logits,
                   std::span<std::int32_t> taken) {
  const auto samples = static_cast<std::size_t>(n), width = static_cast<std::size_t>(actions);
  CHECK(logits.size() == samples * width && taken.size() == samples);
  for (std::size_t i = 0; i < samples; ++i) {
    const float* const z = &logits[i * width];
    taken[i] = static_cast<std::int32_t>(std::max_element(z, z + width) - z);
  }
}

}  // namespace starling::net
