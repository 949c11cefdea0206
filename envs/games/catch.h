// "catch": a ball falls through a 10 x 5 grid, and a paddle in the bottom row must catch it.
//
// The ball starts in a random column of the top row and falls one row a step. The paddle starts in
// the middle and moves one column at most. After nine steps the ball is in the bottom row: reward
// +1 if the paddle is in its column, -1 if not, and the episode ends. Every other reward is 0.
// Observation: one channel, 1 at the ball and at the paddle.
#pragma once

#include "envs/chance.h"
#include "envs/game.h"

namespace starling::envs {

struct Catch {
  static constexpr int kStay = 0, kLeft = 1, kRight = 2, kNumActions = 3;
  static constexpr int kRows = 10, kColumns = 5;

  int ball_row = 0, ball_column = 0;
  int paddle = kColumns / 2;

  static EnvSpec Spec() {
    return {.name = "catch",
            .height = kRows,
            .width = kColumns,
            .actions = ActionSpace::Choice(kNumActions),
            .action_names = {"stay", "left", "right"}};
  }

  template <Chance C>
  constexpr void Reset(C& chance) {
    ball_row = 0;
    ball_column = chance.Below(kColumns);
    paddle = kColumns / 2;
  }

  template <Chance C>
  constexpr Outcome Step(int action, C&) {
    if (action == kLeft && paddle > 0) --paddle;
    if (action == kRight && paddle < kColumns - 1) ++paddle;
    ++ball_row;
    if (ball_row < kRows - 1) return {};
    return {.reward = ball_column == paddle ? 1.0f : -1.0f, .terminal = true};
  }

  constexpr void Observe(float* out) const {
    for (int i = 0; i < kRows * kColumns; ++i) out[i] = 0;
    out[ball_row * kColumns + ball_column] = 1;
    out[(kRows - 1) * kColumns + paddle] = 1;
  }

  template <class State>
  constexpr void Fields(State& state) {
    state(ball_row, 0, kRows - 2);
    state(ball_column, 0, kColumns - 1);
    state(paddle, 0, kColumns - 1);
  }

  friend constexpr bool operator==(const Catch&, const Catch&) = default;
};

}  // namespace starling::envs
