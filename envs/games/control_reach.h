// "control/reach" and "control/steer": a craft with inertia on a square must get to a target and
// stay there.
//
// Craft and target are points with whole coordinates in [-1000, 1000]. In one step, for each axis:
//   velocity += the push, a whole number from -20 to 20; then it is limited to [-100, 100]
//   position += velocity; a craft that touches a wall (-1000 or 1000) or would cross it stays at
//               the wall, and its velocity is 0
// The reward of every step is -(|dx| + |dy|) / 2000, by the distance that is left after it. An
// episode has 100 steps. Position and target are drawn for each: x, y of the craft, then of the
// target; the craft begins at rest.
//
// The games differ only in the push of an axis:
//   control/reach   a number in [-1, 1]: 20 times this, rounded, halves up
//   control/steer   a choice: -20, 0 or 20. A push into a wall that the craft touches is masked;
//                   it would have no effect
// Observation: position / 1000 (x, y), velocity / 100 (x, y), target / 1000 (x, y), share of the
// episode still to come. All state is whole numbers, so a GPU plays the very same game.
#pragma once

#include <array>

#include "envs/chance.h"
#include "envs/game.h"

namespace starling::envs {

struct ControlCraft {
  static constexpr int kAxes = 2, kWall = 1000, kStrongest = 20, kFastest = 100, kSteps = 100;

  int position[kAxes] = {}, velocity[kAxes] = {}, target[kAxes] = {};
  int steps_left = kSteps;

  template <Chance C>
  constexpr void Reset(C& chance) {
    for (int& place : position) place = chance.Between(-kWall, kWall + 1);
    for (int& place : target) place = chance.Between(-kWall, kWall + 1);
    for (int& speed : velocity) speed = 0;
    steps_left = kSteps;
  }

  constexpr void Observe(float* out) const {
    for (const int place : position) *out++ = Share(place, kWall);
    for (const int speed : velocity) *out++ = Share(speed, kFastest);
    for (const int place : target) *out++ = Share(place, kWall);
    *out = Share(steps_left, kSteps);
  }

  template <class State>
  constexpr void Fields(State& state) {
    state(position, -kWall, kWall);
    state(velocity, -kFastest, kFastest);
    state(target, -kWall, kWall);
    state(steps_left, 1, kSteps);
  }

  friend constexpr bool operator==(const ControlCraft&, const ControlCraft&) = default;

 protected:
  static EnvSpec SpecOf(const char* name, const ActionSpace& actions) {
    return {
        .name = name, .channels = 3 * kAxes + 1, .actions = actions, .action_names = {}, .low = -1};
  }

  // A step under the push of each axis.
  constexpr Outcome Pushed(const std::array<int, kAxes>& push) {
    int distance = 0;
    for (int axis = 0; axis < kAxes; ++axis) {
      Move(axis, push[axis]);
      const int along = target[axis] - position[axis];
      distance += along < 0 ? -along : along;
    }
    --steps_left;
    return {.reward = Share(-distance, kAxes * kWall), .terminal = steps_left == 0};
  }

 private:
  constexpr void Move(int axis, int push) {
    velocity[axis] = Limited(velocity[axis] + push, kFastest);
    position[axis] = Limited(position[axis] + velocity[axis], kWall);
    if (position[axis] == -kWall || position[axis] == kWall) velocity[axis] = 0;
  }

  static constexpr int Limited(int x, int most) { return x < -most ? -most : x > most ? most : x; }
  // A single division of whole numbers is rounded alike everywhere.
  static constexpr float Share(int part, int whole) {
    return static_cast<float>(part) / static_cast<float>(whole);
  }
};

struct ControlReach : ControlCraft {
  using Action = std::array<float, kAxes>;  // thrust
  static constexpr Action kLow = {-1, -1}, kHigh = {1, 1};

  static EnvSpec Spec() {
    return SpecOf("control/reach",
                  ActionSpace::Box({kLow.begin(), kLow.end()}, {kHigh.begin(), kHigh.end()}));
  }

  template <Chance C>
  constexpr Outcome Step(const Action& thrust, C&) {
    return Pushed({PushOf(thrust[0]), PushOf(thrust[1])});
  }

 private:
  // The product is exact, and the sum positive: its whole part is the rounded push, however the
  // compiler puts the two together.
  static constexpr int PushOf(float thrust) {
    return static_cast<int>(double{thrust} * kStrongest + (kStrongest + 0.5)) - kStrongest;
  }
};

struct ControlSteer : ControlCraft {
  static constexpr int kBack = 0, kCoast = 1, kForth = 2, kValues = 3;
  using Action = std::array<int, kAxes>;

  static EnvSpec Spec() {
    ActionSpace actions = ActionSpace::Choices({kValues, kValues});
    actions.masked = true;
    return SpecOf("control/steer", actions);
  }

  template <Chance C>
  constexpr Outcome Step(const Action& chosen, C&) {
    return Pushed({PushOf(chosen[0]), PushOf(chosen[1])});
  }

  constexpr void Mask(float* out) const {
    for (const int place : position) {
      *out++ = place == -kWall ? 0.0f : 1.0f;
      *out++ = 1;
      *out++ = place == kWall ? 0.0f : 1.0f;
    }
  }

 private:
  static constexpr int PushOf(int value) { return (value - kCoast) * kStrongest; }
};

}  // namespace starling::envs
