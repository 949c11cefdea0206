// Generalised advantages; declared in net/loss.h.
#include <cstddef>

#include "core/check.h"
#include "net/loss.h"

namespace starling::net {

// Backwards in time: delta_t = r_t + gamma V_{t+1} - V_t and A_t = delta_t + gamma lambda A_{t+1}.
// If step t is the last of its episode, V_{t+1} and A_{t+1} count as zero.
template <class T>
void GeneralisedAdvantages(int steps, int envs, std::span<const T> rewards,
                           std::span<const std::uint8_t> terminals, std::span<const T> values,
                           std::span<const T> bootstrap, double gamma, double lambda,
                           std::span<T> advantages, std::span<T> returns) {
  const std::size_t width = envs, size = steps * width;
  CHECK(rewards.size() == size && terminals.size() == size && values.size() == size);
  CHECK(bootstrap.size() == width && advantages.size() == size && returns.size() == size);
  const T discount = static_cast<T>(gamma), decay = static_cast<T>(gamma * lambda);
  for (int t = steps - 1; t >= 0; --t) {
    const bool last = t + 1 == steps;
    for (std::size_t e = 0; e < width; ++e) {
      const std::size_t i = t * width + e;
      const T goes_on = terminals[i] != 0 ? T(0) : T(1);
      const T next_value = last ? bootstrap[e] : values[i + width];
      const T next_advantage = last ? T(0) : advantages[i + width];
      const T delta = rewards[i] + goes_on * discount * next_value - values[i];
      advantages[i] = delta + goes_on * decay * next_advantage;
      returns[i] = advantages[i] + values[i];
    }
  }
}

template void GeneralisedAdvantages(int, int, std::span<const float>, std::span<const std::uint8_t>,
                                    std::span<const float>, std::span<const float>, double, double,
                                    std::span<float>, std::span<float>);
template void GeneralisedAdvantages(int, int, std::span<const double>,
                                    std::span<const std::uint8_t>, std::span<const double>,
                                    std::span<const double>, double, double, std::span<double>,
                                    std::span<double>);

}  // namespace starling::net
