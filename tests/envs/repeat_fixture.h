// Holds envs that play several frames in an Advance to the same envs asked frame by frame.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/action_space.h"
#include "core/random.h"
#include "envs/frames.h"

namespace starling::envs {

// The frames of env `i`, with the frame before the newest where it has a meaning.
inline std::vector<float> Seen(const FrameEnvs& envs, int i, bool with_before) {
  std::vector<float> seen(envs.bytes(i).begin(), envs.bytes(i).end());
  seen.insert(seen.end(), envs.floats(i).begin(), envs.floats(i).end());
  if (!with_before) return seen;
  seen.insert(seen.end(), envs.bytes_before(i).begin(), envs.bytes_before(i).end());
  seen.insert(seen.end(), envs.floats_before(i).begin(), envs.floats_before(i).end());
  return seen;
}

// Draws an action that the mask behind `frame` allows, a box's between its bounds.
inline void DrawCommand(const ActionSpace& space, std::span<const float> frame,
                        RandomStream& random, std::span<std::int32_t> command) {
  RandomAction(space, frame.last(static_cast<std::size_t>(space.mask())), random, command);
  for (std::size_t k = 0; space.box() && k < command.size(); ++k) {
    const float point = FloatOf(command[k]);
    command[k] = WordOf(IntoBounds(point, space.low[k], space.high[k], space.bounds));
  }
}

// Plays `turns` random actions, each in one Advance of `whole` and frame by frame in `single`. Both
// have the same env 0. Returns how many actions stopped before their time.
inline int ExpectTheSameFrameByFrame(FrameEnvs& whole, FrameEnvs& single, int turns) {
  const int frames = whole.repeat().frames;
  const ActionSpace& space = whole.spec().env.actions;
  RandomStream random(StreamId{.seed = 4});
  int stopped = 0;
  std::vector<std::int32_t> command = RestingAction(space);
  command[0] = FrameEnvs::kReset;
  for (int turn = 0; turn < turns; ++turn) {
    const bool reset = command[0] == FrameEnvs::kReset;
    const int most = reset ? 1 : frames;
    const int lives = single.result(0).lives;
    whole.Advance(command, most);
    double reward = 0;
    int frame = 1;
    for (;; ++frame) {
      single.Advance(command);
      reward += single.result(0).reward;
      const bool lost = whole.repeat().stop_at_lost_life && single.result(0).lives < lives;
      if (frame == most || single.result(0).end != End::kRunning || lost) break;
    }
    stopped += frame < most;
    EXPECT_EQ(whole.result(0).reward, reward) << "turn " << turn;
    EXPECT_EQ(whole.result(0).end, single.result(0).end) << "turn " << turn;
    EXPECT_EQ(whole.result(0).lives, single.result(0).lives) << "turn " << turn;
    const bool running = single.result(0).end == End::kRunning;
    const bool shown = running || single.result(0).end == End::kTruncated;  // and so pooled
    const bool before = !reset && shown && whole.repeat().keep_before;
    EXPECT_EQ(Seen(whole, 0, before), Seen(single, 0, before)) << "turn " << turn;
    if (testing::Test::HasFailure()) return stopped;
    if (running) {
      DrawCommand(space, whole.floats(0), random, command);
    } else {
      command[0] = FrameEnvs::kReset;
    }
  }
  return stopped;
}

}  // namespace starling::envs
