// Written with plugin.hpp: a box. A boat on a line must stay near the middle; the wind blows.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "envs/plugin.hpp"

struct Drift {
  using Action = std::array<float, 2>;  // how to row; a wish, of any size
  static constexpr float kInfinity = std::numeric_limits<float>::infinity();
  static constexpr Action kActionLow = {-0.5f, -kInfinity}, kActionHigh = {1, kInfinity};
  static constexpr const char* kName = "drift";
  static constexpr int kHeight = 1, kWidth = 1, kChannels = 3;
  static constexpr float kLow = -2;
  static constexpr int kMaxSteps = 20;

  float place = 0, wish = 0;
  int steps = 0;

  void Reset(starling::plugin::Random& random) {
    place = random.Uniform() - 0.5f;
    wish = 0;
    steps = 0;
  }
  starling::plugin::Outcome Step(const Action& action, starling::plugin::Random& random) {
    if (!(action[0] >= -0.5f && action[0] <= 1)) throw std::runtime_error("out of bounds");
    wish = std::clamp(action[1], -2.0f, 1.0f);
    place = std::clamp(place + 0.2f * action[0] + 0.2f * (random.Uniform() - 0.5f), -1.0f, 1.0f);
    if (++steps == kMaxSteps) return {-std::abs(place), starling::plugin::End::kTruncated};
    return {-std::abs(place), std::abs(place) == 1 ? starling::plugin::End::kTerminated
                                                   : starling::plugin::End::kRunning};
  }
  void Observe(float* values) const {
    values[0] = place;
    values[1] = wish;
    values[2] = static_cast<float>(steps) / kMaxSteps;
  }
  void Fields(starling::plugin::State& state) {
    state(place, -1, 1);
    state(wish, -2, 1);
    state(steps, 0, kMaxSteps);
  }
};

STARLING_ENV(Drift);
