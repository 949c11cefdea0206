// Generalised advantages; declared in net/loss.h.
#include "net/loss.h"

namespace starling::net {

// Backwards in time: delta_t = r_t + gamma V_{t+1} - V_t and A_t = delta_t + gamma lambda A_{t+1}.
// If step t is the last of its episode, V_{t+1} and A_{t+1} count as zero.
template <class T>
void GeneralisedAdvantages(const AdvantagesArgs<T>& args) {
  const auto [shape, rewards, terminals, values, bootstrap, advantages, returns] = args;
  const int envs = shape.envs;
  const T discount = static_cast<T>(shape.gamma),
          decay = static_cast<T>(shape.gamma * shape.lambda);
  for (int t = shape.steps - 1; t >= 0; --t) {
    const bool last = t + 1 == shape.steps;
    for (int e = 0; e < envs; ++e) {
      const int i = t * envs + e;
      const T goes_on = terminals[i] != 0 ? T(0) : T(1);
      const T next_value = last ? bootstrap[e] : values[i + envs];
      const T next_advantage = last ? T(0) : advantages[i + envs];
      const T delta = rewards[i] + goes_on * discount * next_value - values[i];
      advantages[i] = delta + goes_on * decay * next_advantage;
      returns[i] = advantages[i] + values[i];
    }
  }
}

template void GeneralisedAdvantages(const AdvantagesArgs<float>&);
template void GeneralisedAdvantages(const AdvantagesArgs<double>&);

}  // namespace starling::net
