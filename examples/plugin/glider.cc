// "glider": an environment in a library of its own, to copy and to change.
//
// A glider flies in a grid of ten columns and ten rows. Walls with a gap of three rows approach,
// one every five steps. The glider may rise or sink by one row in a step. It gets +1 for every wall
// that it passes. Hitting a wall ends the episode, and so does step 500.
// Observation: channel 0 the glider, channel 1 the walls.
#include <algorithm>

#include "plugin.hpp"

using starling::plugin::End;
using starling::plugin::Outcome;
using starling::plugin::Random;
using starling::plugin::State;

struct Glider {
  static constexpr const char* kName = "glider";
  static constexpr int kHeight = 10, kWidth = 10, kChannels = 2;
  static constexpr const char* kActions[] = {"glide", "rise", "sink"};
  static constexpr int kNose = 1, kGap = 3, kBetween = 5;  // the glider's column; rows; columns
  static constexpr int kMaxSteps = 500;

  int gap[kWidth] = {};  // the gap's upper row in every column; -1 where there is no wall
  int row = 0, steps = 0;

  void Reset(Random& random) {
    std::fill_n(gap, kWidth, -1);
    row = random.Below(kHeight);
    steps = 0;
  }

  Outcome Step(int action, Random& random) {
    row = std::clamp(row - (action == 1) + (action == 2), 0, kHeight - 1);
    std::rotate(gap, gap + 1, gap + kWidth);
    gap[kWidth - 1] = steps++ % kBetween == 0 ? random.Below(kHeight - kGap + 1) : -1;
    const int here = gap[kNose];
    if (here >= 0 && (row < here || row >= here + kGap)) return {0, End::kTerminated};
    return {here >= 0 ? 1.0f : 0.0f, steps == kMaxSteps ? End::kTruncated : End::kRunning};
  }

  // All that changes, so that a run goes on exactly after a stop.
  void Fields(State& state) {
    state(gap, -1, kHeight - kGap);
    state(row, 0, kHeight - 1);
    state(steps, 0, kMaxSteps);
  }

  void Observe(float* values) const {
    values[(row * kWidth + kNose) * kChannels] = 1;
    for (int y = 0; y < kHeight; ++y) {
      for (int x = 0; x < kWidth; ++x) {
        const bool wall = gap[x] >= 0 && (y < gap[x] || y >= gap[x] + kGap);
        if (wall) values[(y * kWidth + x) * kChannels + 1] = 1;
      }
    }
  }
};

STARLING_ENV(Glider);
