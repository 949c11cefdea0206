// "minatar/breakout": a paddle, a ball and three rows of bricks on a 10 x 10 grid.
//
// Written from a description of the rules and tested against recorded play of the MinAtar package,
// step by step (envs/trace.h). Channels: paddle, ball, trail (the ball's cell of the step before),
// brick. Six actions, of which left and right have an effect. Reward 1 for a brick; no ramp.
//
// One step: the paddle moves, then the ball looks one cell ahead along its diagonal. Cases:
//   side wall     it turns sideways and slides along the wall: next row, same column.
//                 The cases below are decided with that cell ahead.
//   top           it turns down and spends a second step in row 0, one column further.
//   brick         the brick is removed, +1, the ball turns vertically and stays in its row, one
//                 column further. It is now "struck": it passes through directly following brick
//                 cells, without breaking them and without reward. The first step onto anything
//                 else (the top and the paddle count) makes it ordinary again.
//   paddle row    the paddle under the ball's column: it turns up and stays in row 8, one column
//                 further. The paddle under the cell ahead only: it turns back both ways, and still
//                 moves to the column ahead. Otherwise it falls into row 9 and the episode ends.
//
// Easy to get wrong:
//   - The paddle moves before the ball looks: it may arrive just in time.
//   - At a wall the cell ahead is in the ball's own column, so only a paddle under the ball saves a
//     corner, and never by a double turn.
//   - A cleared wall is rebuilt only when the ball next looks at the paddle row. If the ball is
//     lost in that very step, the last picture shows the new wall.
//   - In the first picture the trail is in the ball's cell.
//   - The only draw, an integer below 2 at reset, decides column and heading.
#pragma once

#include <array>
#include <cstdint>

#include "envs/chance.h"
#include "envs/game.h"
#include "envs/games/minatar_grid.h"

namespace starling::envs {

struct MinatarBreakout : MinatarGrid<4> {
  static constexpr std::array<int, 3> kMinimalActions{kNoop, kLeft, kRight};
  static constexpr int kPaddleChannel = 0, kBallChannel = 1, kTrailChannel = 2, kBrickChannel = 3;
  static constexpr int kPaddleRow = 9, kFirstBrickRow = 1, kBrickRows = 3;
  static constexpr std::uint16_t kFullRow = (1u << kSide) - 1;

  std::uint16_t bricks[kBrickRows] = {kFullRow, kFullRow, kFullRow};  // bit c: a brick in column c
  bool struck = false;
  int paddle = 4;  // column
  int ball_row = 3, ball_column = 0;
  int trail_row = 3, trail_column = 0;
  int row_step = 1, column_step = 1;  // +1 or -1: down, right

  static EnvSpec Spec() { return SpecOf("breakout"); }

  template <Chance C>
  constexpr void Reset(C& chance) {
    *this = {};
    if (chance.Below(2) == 1) {
      ball_column = trail_column = kSide - 1;
      column_step = -1;
    }
  }

  template <Chance C>
  constexpr Outcome Step(int action, C&) {
    if (action == kLeft && paddle > 0) --paddle;
    if (action == kRight && paddle < kSide - 1) ++paddle;
    trail_row = ball_row;
    trail_column = ball_column;
    return MoveBall();
  }

  constexpr void Observe(float* out) const {
    Clear(out);
    for (int row = 0; row < kBrickRows; ++row) {
      Light(kFirstBrickRow + row, bricks[row], kBrickChannel, out);
    }
    out[Cell(kPaddleRow, paddle) + kPaddleChannel] = 1;
    out[Cell(ball_row, ball_column) + kBallChannel] = 1;
    out[Cell(trail_row, trail_column) + kTrailChannel] = 1;
  }

  constexpr bool BrickAt(int row, int column) const {
    const int brick_row = row - kFirstBrickRow;
    return brick_row >= 0 && brick_row < kBrickRows && (bricks[brick_row] >> column & 1);
  }

  template <class State>
  constexpr void Fields(State& state) {
    state(bricks, 0, kFullRow);
    state(struck);
    state(paddle, 0, kSide - 1);
    state(ball_row, 0, kPaddleRow - 1);
    state(ball_column, 0, kSide - 1);
    state(trail_row, 0, kPaddleRow - 1);
    state(trail_column, 0, kSide - 1);
    state(row_step, -1, 1);
    state(column_step, -1, 1);
  }

  friend constexpr bool operator==(const MinatarBreakout&, const MinatarBreakout&) = default;

 private:
  constexpr Outcome MoveBall() {
    const int row = ball_row + row_step;
    int column = ball_column + column_step;
    if (!InGrid(column)) {
      column_step = -column_step;
      column = ball_column;
    }
    const int column_before = ball_column;
    ball_column = column;  // in every case below
    if (row >= 0 && BrickAt(row, column)) return EnterBrick(row, column);
    struck = false;
    if (row < 0) {
      row_step = 1;
    } else if (row == kPaddleRow) {
      return MeetPaddleRow(column_before, column);
    } else {
      ball_row = row;
    }
    return {};
  }

  constexpr Outcome EnterBrick(int row, int column) {
    if (struck) {
      ball_row = row;
      return {};
    }
    struck = true;
    bricks[row - kFirstBrickRow] &= static_cast<std::uint16_t>(~(1u << column));
    row_step = -row_step;
    return {.reward = 1};
  }

  constexpr Outcome MeetPaddleRow(int column_before, int column) {
    if (bricks[0] == 0 && bricks[1] == 0 && bricks[2] == 0) {
      for (std::uint16_t& bricks_of_row : bricks) bricks_of_row = kFullRow;
    }
    if (paddle == column_before) {
      row_step = -1;
    } else if (paddle == column) {
      row_step = -1;
      column_step = -column_step;
    } else {
      ball_row = kPaddleRow;
      return {.terminal = true};
    }
    return {};
  }
};

}  // namespace starling::envs
