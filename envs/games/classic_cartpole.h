// "classic/cartpole": a pole stands on a cart, and the cart must move so that the pole does not
// fall.
//
// The cart-pole of Barto, Sutton and Anderson (1983) with the numbers of Gymnasium's CartPole-v1: a
// cart of 1 kg, a pole of 0.1 kg and 1 m, a push of 10 N to the left or to the right, Euler steps
// of 0.02 s. The reward of every step is 1. The episode ends when the cart is more than 2.4 m from
// the middle or the pole more than 12 degrees from upright. It begins with all four numbers uniform
// in [-0.05, 0.05). CartPole-v1 itself has env.time_limit = 500 and env.sticky_actions = 0.
// Observation: position, velocity, angle, angular velocity, in m, m/s, rad, rad/s.
//
// It counts in fixed-point numbers. A step differs from one in doubles by less than 1e-6.
#pragma once

#include "envs/chance.h"
#include "envs/game.h"
#include "envs/games/fixed_point.h"

namespace starling::envs {

struct ClassicCartpole {
  static constexpr int kLeft = 0, kRight = 1, kNumActions = 2;

  static constexpr FixedPoint kGravity = 9.8, kPush = 10.0;
  static constexpr FixedPoint kPoleMass = 0.1, kMass = 1.1, kHalfLength = 0.5;
  static constexpr FixedPoint kPoleMoment = 0.05;  // mass times half the length
  static constexpr FixedPoint kSeconds = 0.02;     // of a step
  static constexpr FixedPoint kEdge = 2.4, kFallen = 12 * 3.14159265358979323846 / 180;
  // v^2 <= 2 (10 m/s^2) (4.8 m) and a step more; the pole, with 20 / s^2 over 0.42, is slower.
  static constexpr FixedPoint kFastest = 12.0;
  static constexpr FixedPoint kStart = 0.05;

  FixedPoint position, velocity, angle, spin;

  static EnvSpec Spec() {
    return {.name = "classic/cartpole",
            .channels = 4,
            .actions = ActionSpace::Choice(kNumActions),
            .action_names = {"left", "right"},
            .low = -12,
            .high = 12};
  }

  template <Chance C>
  constexpr void Reset(C& chance) {
    position = Start(chance);
    velocity = Start(chance);
    angle = Start(chance);
    spin = Start(chance);
  }

  template <Chance C>
  constexpr Outcome Step(int action, C&) {
    // 1. Accelerations. `pull`: by the push, and by the pole that swings.
    const FixedPoint sine = Sine(angle), cosine = Cosine(angle);
    const FixedPoint push = action == kRight ? kPush : -kPush;
    const FixedPoint pull = (push + kPoleMoment * spin * spin * sine) / kMass;
    const FixedPoint inertia = kHalfLength * (4.0 / 3 - kPoleMass * cosine * cosine / kMass);
    const FixedPoint turn = (kGravity * sine - cosine * pull) / inertia;
    const FixedPoint speed_up = pull - kPoleMoment * turn * cosine / kMass;
    // 2. A step of Euler's method: places move by the old speeds.
    position = position + kSeconds * velocity;
    velocity = velocity + kSeconds * speed_up;
    angle = angle + kSeconds * spin;
    spin = spin + kSeconds * turn;
    return {.reward = 1, .terminal = Beyond(position, kEdge) || Beyond(angle, kFallen)};
  }

  constexpr void Observe(float* out) const {
    out[0] = static_cast<float>(position);
    out[1] = static_cast<float>(velocity);
    out[2] = static_cast<float>(angle);
    out[3] = static_cast<float>(spin);
  }

  template <class State>
  constexpr void Fields(State& state) {
    state(position.parts, -kEdge.parts, kEdge.parts);
    state(velocity.parts, -kFastest.parts, kFastest.parts);
    state(angle.parts, -kFallen.parts, kFallen.parts);
    state(spin.parts, -kFastest.parts, kFastest.parts);
  }

  friend constexpr bool operator==(const ClassicCartpole&, const ClassicCartpole&) = default;

 private:
  static constexpr bool Beyond(FixedPoint x, FixedPoint limit) { return x < -limit || x > limit; }

  template <Chance C>
  static constexpr FixedPoint Start(C& chance) {
    const int half = static_cast<int>(kStart.parts);
    return FixedPoint::OfParts(chance.Below(2 * half) - half);
  }
};

}  // namespace starling::envs
