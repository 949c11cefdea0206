// Written with plugin.hpp: two choices, a mask, two entries. Doors of two floors open one by one;
// only an open one may be taken, and the lift is allowed at the right door only.
#include <array>
#include <cstdint>

#include "envs/plugin.hpp"

using starling::plugin::End;
using starling::plugin::Entry;
using starling::plugin::Outcome;
using starling::plugin::Random;

struct Doors {
  static constexpr int kDoors = 4, kMaxSteps = 12;
  using Action = std::array<int, 2>;  // a door; whether to take the lift
  static constexpr int kCounts[] = {kDoors, 2};
  static constexpr const char* kName = "doors";
  static constexpr Entry kEntries[] = {{"open", 1, kDoors, 1}, {"me", 1, 1, 2, -1, 3}};

  bool open[kDoors] = {};
  int door = 0, floor = -1, steps = 0;

  void Reset(Random& random) {
    for (bool& one : open) one = false;
    door = random.Below(kDoors);
    open[door] = true;
    floor = -1;
    steps = 0;
  }
  Outcome Step(const Action& action, Random& random) {
    const bool allowed = open[action[0]] && (action[1] == 0 || door == kDoors - 1);
    if (action[1] == 1) floor = 1;
    door = action[0];
    open[random.Below(kDoors)] = true;
    const bool over = floor == 1 && door == 0;
    return {allowed ? static_cast<float>(over) : -10, over                   ? End::kTerminated
                                                      : ++steps >= kMaxSteps ? End::kTruncated
                                                                             : End::kRunning};
  }
  void Observe(float* values) const {
    for (int i = 0; i < kDoors; ++i) values[i] = open[i];
    values[kDoors] = static_cast<float>(floor);
    values[kDoors + 1] = static_cast<float>(door);
  }
  void Mask(std::uint8_t* allowed) const {
    for (int i = 0; i < kDoors; ++i) allowed[i] = open[i];
    if (door != kDoors - 1) allowed[kDoors + 1] = 0;
  }
  void Fields(starling::plugin::State& state) {
    state(open);
    state(door, 0, kDoors - 1);
    state(floor, -1, 1);
    state(steps, 0, kMaxSteps);
  }
};

STARLING_ENV(Doors);
