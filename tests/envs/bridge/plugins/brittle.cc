// Written with plugin.hpp: episodes of five steps. One in BRITTLE_ODDS aborts in its third step. A
// row has BRITTLE_ROW numbers.
#include <cstdlib>

#include "envs/plugin.hpp"

struct Brittle {
  static constexpr const char* kName = "brittle";
  static constexpr int kHeight = 1, kWidth = 1, kChannels = BRITTLE_ROW;
  static constexpr const char* kActions[] = {"go"};

  int step = 0;
  bool broken = false;

  void Reset(starling::plugin::Random& random) {
    step = 0;
    broken = random.Below(BRITTLE_ODDS) == 0;
  }
  starling::plugin::Outcome Step(int, starling::plugin::Random&) {
    if (++step == 3 && broken) std::abort();
    return {1, step == 5 ? starling::plugin::End::kTerminated : starling::plugin::End::kRunning};
  }
  void Observe(float* values) const {
    if (step < 5) values[step] = 1;
  }
};

STARLING_ENV(Brittle);
