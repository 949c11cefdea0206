// "dummy": the smallest env worth training on, and the one to copy for the next (envs/README.md).
//
// One of two lights is on. Choosing its side gives 1, anything else 0; then a light is drawn again.
// An episode has eight steps, so the best return is 8 and that of random choice about 4.
// Observation: (left light, right light, share of the episode still to come).
#pragma once

#include "envs/chance.h"
#include "envs/game.h"

namespace starling::envs {

struct Dummy {
  // Action 0 does nothing, in every game.
  static constexpr int kNoop = 0, kLeft = 1, kRight = 2, kNumActions = 3;
  static constexpr int kSteps = 8;
  static constexpr int kLights = 2;

  // The whole state: plain members, each with a value, so that a game can be copied, compared,
  // written to a file or moved to a GPU.
  int light = 0;  // 0 left, 1 right
  int steps_left = kSteps;

  static EnvSpec Spec() {
    return {.name = "dummy",
            .channels = 3,
            .actions = ActionSpace::Choice(kNumActions),
            .action_names = {"noop", "left", "right"}};
  }

  // A fresh episode. Sets every member and draws every random number from `chance`.
  template <Chance C>
  constexpr void Reset(C& chance) {
    steps_left = kSteps;
    light = chance.Below(kLights);
  }

  // One step. The caller resets the game after a terminal one.
  template <Chance C>
  constexpr Outcome Step(int action, C& chance) {
    const bool right_choice = action == (light == 0 ? kLeft : kRight);
    light = chance.Below(kLights);
    --steps_left;
    return {.reward = right_choice ? 1.0f : 0.0f, .terminal = steps_left == 0};
  }

  // Writes every value, zeros included: `out` is not cleared before.
  constexpr void Observe(float* out) const {
    out[0] = light == 0 ? 1.0f : 0.0f;
    out[1] = light == 1 ? 1.0f : 0.0f;
    out[2] = static_cast<float>(steps_left) / static_cast<float>(kSteps);
  }

  // The whole state once more, for checkpoints: every member with its least and largest value
  // between two steps.
  template <class State>
  constexpr void Fields(State& state) {
    state(light, 0, kLights - 1);
    state(steps_left, 1, kSteps);
  }

  friend constexpr bool operator==(const Dummy&, const Dummy&) = default;
};

}  // namespace starling::envs
