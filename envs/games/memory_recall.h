// "memory/recall": name at the end which of four lights was on at the beginning.
//
// The first observation shows the cue, one light of four. For the next 4 to 9 steps the observation
// holds no information, only a random flicker. Then the go light is on: the action of that step is
// the answer and ends the episode, reward +1 if it names the cue, 0 if not. No other action has an
// effect and no other reward is given. Cue, delay and flicker are drawn for every episode.
//
// No observation after the cue depends on it, or on the actions. So a net without memory gets 1/4
// at best (random actions 1/5); the maximum is 1. Cue and answer are 5 to 10 steps apart, so no
// unroll of 5 contains both. Play it with env.sticky_actions = 0: a sticky action is a memory, too.
// Observation: (four lights of the cue, go light, flicker).
#pragma once

#include "envs/chance.h"
#include "envs/game.h"

namespace starling::envs {

struct MemoryRecall {
  static constexpr int kCues = 4;
  static constexpr int kNoop = 0, kFirstAnswer = 1, kNumActions = kFirstAnswer + kCues;
  static constexpr int kGo = kCues, kFlicker = kCues + 1, kLights = kCues + 2;
  static constexpr int kShortest = 4, kLongest = 9;  // delay, in steps

  int cue = 0, delay = kShortest;
  int step = 0;  // 0: the cue is shown; then the delay; delay + 1: go
  int flicker = 0;

  static EnvSpec Spec() {
    return {.name = "memory/recall",
            .channels = kLights,
            .actions = ActionSpace::Choice(kNumActions),
            .action_names = {"noop", "one", "two", "three", "four"}};
  }

  template <Chance C>
  constexpr void Reset(C& chance) {
    cue = chance.Below(kCues);
    delay = chance.Between(kShortest, kLongest + 1);
    step = 0;
    flicker = chance.Below(2);
  }

  template <Chance C>
  constexpr Outcome Step(int action, C& chance) {
    if (Go()) return {.reward = action == kFirstAnswer + cue ? 1.0f : 0.0f, .terminal = true};
    ++step;
    flicker = chance.Below(2);
    return {};
  }

  constexpr void Observe(float* out) const {
    for (int i = 0; i < kCues; ++i) out[i] = step == 0 && i == cue ? 1.0f : 0.0f;
    out[kGo] = Go() ? 1.0f : 0.0f;
    out[kFlicker] = static_cast<float>(flicker);
  }

  template <class State>
  constexpr void Fields(State& state) {
    state(cue, 0, kCues - 1);
    state(delay, kShortest, kLongest);
    state(step, 0, kLongest + 1);
    state(flicker, 0, 1);
  }

  friend constexpr bool operator==(const MemoryRecall&, const MemoryRecall&) = default;

 private:
  constexpr bool Go() const { return step > delay; }
};

}  // namespace starling::envs
