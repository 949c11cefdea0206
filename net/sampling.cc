// Actions from logits; declared in net/loss.h.
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
  const std::size_t samples = n, width = actions;
  CHECK(logits.size() == samples * width && uniforms.size() == samples && taken.size() == samples);
  std::vector<T> mass(width);
  for (std::size_t i = 0; i < samples; ++i) {
    // 1. The mass of each action, relative to that of the likeliest.
    const T* const z = &logits[i * width];
    const T top = *std::max_element(z, z + width);
    T total = 0;
    for (int a = 0; a < actions; ++a) {
      mass[a] = std::exp(z[a] - top);
      total += mass[a];
    }
    // 2. The first action whose cumulated mass exceeds u * total. If rounding lifts u * total to
    // total, there is none; then the last action with any mass is taken.
    const T target = uniforms[i] * total;
    T below = 0;
    taken[i] = 0;
    for (int a = 0; a < actions; ++a) {
      if (mass[a] > T(0)) taken[i] = a;
      below += mass[a];
      if (below > target) break;
    }
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
  const std::size_t samples = n, width = actions;
  CHECK(logits.size() == samples * width && taken.size() == samples);
  for (std::size_t i = 0; i < samples; ++i) {
    const float* const z = &logits[i * width];
    taken[i] = static_cast<std::int32_t>(std::max_element(z, z + width) - z);
  }
}

}  // namespace starling::net
