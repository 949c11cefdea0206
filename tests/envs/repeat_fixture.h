// Holds envs that play several frames in an Advance to the same envs asked frame by frame.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

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

// Plays `turns` random actions, each in one Advance of `whole` and frame by frame in `single`. Both
// have the same env 0, and no sticky actions. Returns how many actions stopped before their time.
inline int ExpectTheSameFrameByFrame(FrameEnvs& whole, FrameEnvs& single, int turns) {
  const int frames = whole.repeat().frames;
  RandomStream random(StreamId{.seed = 4});
  int stopped = 0;
  std::int32_t command = FrameEnvs::kReset;
  for (int turn = 0; turn < turns; ++turn) {
    const int most = command == FrameEnvs::kReset ? 1 : frames;
    const int lives = single.result(0).lives;
    whole.Advance({&command, 1}, most);
    double reward = 0;
    int frame = 1;
    for (;; ++frame) {
      single.Advance({&command, 1});
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
    const bool before = command != FrameEnvs::kReset && shown && whole.repeat().keep_before;
    EXPECT_EQ(Seen(whole, 0, before), Seen(single, 0, before)) << "turn " << turn;
    if (testing::Test::HasFailure()) return stopped;
    const auto actions = static_cast<std::uint32_t>(whole.spec().env.num_actions);
    command = running ? static_cast<std::int32_t>(random.Below(actions)) : FrameEnvs::kReset;
  }
  return stopped;
}

}  // namespace starling::envs
