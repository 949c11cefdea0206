// One of two lights is on, and choosing its side gives 1, until the env has made TURNCOAT_STEPS
// steps over all its episodes. From then on the other side gives it.
// An episode should depend on its seed alone, and these depend on the steps made, too. Those are in
// the saved state, so a replay repeats them.
#include "envs/plugin.hpp"

using starling::plugin::End;
using starling::plugin::Outcome;
using starling::plugin::Random;

struct Turncoat {
  static constexpr const char* kName = "turncoat";
  static constexpr int kHeight = 1, kWidth = 1, kChannels = 2;
  static constexpr const char* kActions[] = {"left", "right"};
  static constexpr int kEpisode = 8, kMaxSteps = 1'000'000'000;

  int light = 0, left = kEpisode, steps = 0;

  void Reset(Random& random) {
    left = kEpisode;
    light = random.Below(2);
  }
  Outcome Step(int action, Random& random) {
    const bool turned = steps >= TURNCOAT_STEPS, same_side = action == light;
    if (steps < kMaxSteps) ++steps;
    light = random.Below(2);
    return {same_side != turned ? 1.0f : 0.0f, --left == 0 ? End::kTerminated : End::kRunning};
  }
  void Observe(float* values) const { values[light] = 1; }
  void Fields(starling::plugin::State& state) {
    state(light, 0, 1);
    state(left, 0, kEpisode);
    state(steps, 0, kMaxSteps);
  }
};

STARLING_ENV(Turncoat);
