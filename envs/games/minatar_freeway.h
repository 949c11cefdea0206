// "minatar/freeway": a chicken crosses eight lanes of traffic on a 10 x 10 grid.
//
// Written from a description of the rules and tested against recorded play of the MinAtar package,
// step by step (envs/trace.h). Channels: chicken, car, speed 1 to speed 5. Six actions, of which up
// and down have an effect. Reward 1 for reaching row 0; no ramp.
//
// The chicken stays in column 4 and begins in row 9. Rows 1 to 8 hold one car each, with a speed of
// 1 (the fastest) to 5 and a direction; cars wrap around the edges. The cell behind a car, also
// wrapped, is lit in the channel of its speed.
// One step, in this order:
//   chicken    moves a row, if it may. In row 0: +1, back to row 9, all cars are drawn again.
//   hit        a car in the chicken's cell sends it back to row 9, without other effect.
//   cars       when due, each moves a column. Then the hit again.
//   end        the episode ends with step 2501.
//
// Easy to get wrong:
//   - A car of speed n moves every n + 1 steps. Drawn at reset it moves on step n + 1 of the
//     episode. Drawn when the chicken arrives it moves n steps later: that very step counts.
//   - A draw takes eight integers in [1, 6), the speeds from row 1 down, then eight reals, the
//     directions (below a half: left). It does not move the cars.
//   - At reset all cars are in column 0, whatever their direction.
//   - The chicken may move on step 4, and then 3 steps after its last move. Down in row 9 moves
//     nothing and costs the 3 steps as well. A hit or an arrival neither ends that wait nor starts
//     one.
//   - A chicken that steps under a car is hit, even if the car drives on in that step. A chicken
//     that steps away in time is not.
//   - An arrival in the last step counts.
#pragma once

#include <array>

#include "envs/chance.h"
#include "envs/game.h"
#include "envs/games/minatar_grid.h"

namespace starling::envs {

struct MinatarFreeway : MinatarGrid<7> {
  static constexpr std::array<int, 3> kMinimalActions = {kNoop, kUp, kDown};
  static constexpr int kChickenChannel = 0, kCarChannel = 1, kSpeedChannel = 2;  // 2 to 6: 1 to 5
  static constexpr int kChickenColumn = 4, kStartRow = kSide - 1;
  static constexpr int kFirstCarRow = 1, kCars = 8, kMaxSpeed = 5;
  static constexpr int kChickenPeriod = 3, kSteps = 2501;

  int steps_left = kSteps;
  int chicken_row = kStartRow;
  int chicken_timer = kChickenPeriod;  // steps until the chicken may move again
  // Element i: the car of row kFirstCarRow + i.
  int columns[kCars] = {};
  int speeds[kCars] = {};      // 1 (fastest) to kMaxSpeed
  int directions[kCars] = {};  // 1 right, -1 left
  int timers[kCars] = {};      // steps until the car moves

  static EnvSpec Spec() { return SpecOf("freeway"); }

  template <Chance C>
  constexpr void Reset(C& chance) {
    *this = {};
    DrawCars(chance);
  }

  template <Chance C>
  constexpr Outcome Step(int action, C& chance) {
    Outcome outcome;
    MoveChicken(action);
    if (chicken_row == 0) {
      outcome.reward = 1;
      chicken_row = kStartRow;
      DrawCars(chance);
    }
    MeetCars();
    MoveCars();
    MeetCars();
    outcome.terminal = --steps_left == 0;
    return outcome;
  }

  constexpr void Observe(float* out) const {
    Clear(out);
    out[Cell(chicken_row, kChickenColumn) + kChickenChannel] = 1;
    for (int car = 0; car < kCars; ++car) {
      const int row = kFirstCarRow + car, behind = Wrapped(columns[car] - directions[car]);
      out[Cell(row, columns[car]) + kCarChannel] = 1;
      out[Cell(row, behind) + kSpeedChannel + speeds[car] - 1] = 1;
    }
  }

  template <class State>
  constexpr void Fields(State& state) {
    state(steps_left, 1, kSteps);
    state(chicken_row, 1, kStartRow);
    state(chicken_timer, 0, kChickenPeriod);
    state(columns, 0, kSide - 1);
    // Before the first reset, speeds and directions are 0.
    state(speeds, 0, kMaxSpeed);
    state(directions, -1, 1);
    state(timers, 0, kMaxSpeed);
  }

  friend constexpr bool operator==(const MinatarFreeway&, const MinatarFreeway&) = default;

 private:
  static constexpr int Wrapped(int column) {
    return column < 0 ? kSide - 1 : column == kSide ? 0 : column;
  }

  template <Chance C>
  constexpr void DrawCars(C& chance) {
    for (int car = 0; car < kCars; ++car) {
      speeds[car] = timers[car] = chance.Between(1, kMaxSpeed + 1);
    }
    for (int& direction : directions) direction = chance.Uniform() < 0.5 ? -1 : 1;
  }

  constexpr void MoveChicken(int action) {
    if (chicken_timer > 0) {
      --chicken_timer;
      return;
    }
    if (action == kUp) {
      --chicken_row;
      chicken_timer = kChickenPeriod - 1;
    } else if (action == kDown) {
      if (chicken_row < kStartRow) ++chicken_row;
      chicken_timer = kChickenPeriod - 1;
    }
  }

  constexpr void MeetCars() {
    const int car = chicken_row - kFirstCarRow;
    if (car < kCars && columns[car] == kChickenColumn) chicken_row = kStartRow;
  }

  constexpr void MoveCars() {
    for (int car = 0; car < kCars; ++car) {
      const bool moves = timers[car] == 0;
      timers[car] = moves ? speeds[car] : timers[car] - 1;
      if (moves) columns[car] = Wrapped(columns[car] + directions[car]);
    }
  }
};

}  // namespace starling::envs
