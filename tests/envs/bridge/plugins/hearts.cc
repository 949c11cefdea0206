// Written with plugin.hpp: three lives, one of which is often lost, and the last action in sight.
#include "envs/plugin.hpp"

struct Hearts {
  static constexpr const char* kName = "hearts";
  static constexpr int kHeight = 1, kWidth = 1, kChannels = 2;
  static constexpr float kHigh = 3;
  static constexpr const char* kActions[] = {"wait", "left", "right"};

  int hearts = 3, last = 0;

  int Lives() const { return hearts; }
  void Reset(starling::plugin::Random&) {
    hearts = 3;
    last = 0;
  }
  starling::plugin::Outcome Step(int action, starling::plugin::Random& random) {
    last = action;
    if (random.Below(3) == 0) --hearts;
    return {static_cast<float>(action),
            hearts == 0 ? starling::plugin::End::kTerminated : starling::plugin::End::kRunning};
  }
  void Observe(float* values) const {
    values[0] = static_cast<float>(hearts);
    values[1] = static_cast<float>(last);
  }
  void Fields(starling::plugin::State& state) {
    state(hearts, 0, 3);
    state(last, 0, 2);
  }
};

STARLING_ENV(Hearts);
