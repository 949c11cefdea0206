// "grid/courier": a courier on a small map carries one order after the other to the corners.
//
// The map has 7 x 7 cells. Eight of them may hold a pillar, each with probability 1/2 for a whole
// episode: those whose row and column are odd, but for the middle, where the courier starts. So
// every corner can be reached. An order names a corner. In one step:
//   the courier moves one cell, or stays if a pillar or the edge of the map is there
//   in the corner of the order: reward 1, and the next order is one of the other three, drawn
//   with equal chances
// An episode has 100 steps. The first order is drawn from all four, then the pillars, row by row.
// Observation, in three entries: "map" (7, 7, 2), the courier and the pillars; "order" (4), 1 at
// the corner that is wanted (upper left, upper right, lower left, lower right); "time" (1), the
// share of the episode still to come. Neither the map nor the order alone says where to go.
#pragma once

#include "envs/chance.h"
#include "envs/game.h"

namespace starling::envs {

struct GridCourier {
  static constexpr int kStay = 0, kUp = 1, kDown = 2, kLeft = 3, kRight = 4, kNumActions = 5;
  static constexpr int kSide = 7, kCells = kSide * kSide, kMapChannels = 2;
  static constexpr int kPlaces = 9, kCorners = 4, kSteps = 100;

  int row = kSide / 2, column = kSide / 2;
  bool pillars[kPlaces] = {};  // of the cells (1, 1), (1, 3), (1, 5), (3, 1) ...
  int order = 0;
  int steps_left = kSteps;

  static EnvSpec Spec() {
    return {.name = "grid/courier",
            .channels = kCells * kMapChannels + kCorners + 1,
            .actions = ActionSpace::Choice(kNumActions),
            .action_names = {"stay", "up", "down", "left", "right"},
            .entries = {{"map", kSide, kSide, kMapChannels},
                        {.name = "order", .channels = kCorners},
                        {.name = "time"}}};
  }

  template <Chance C>
  constexpr void Reset(C& chance) {
    row = column = kSide / 2;
    order = chance.Below(kCorners);
    for (int place = 0; place < kPlaces; ++place) {
      pillars[place] = place != kPlaces / 2 && chance.Below(2) == 1;
    }
    steps_left = kSteps;
  }

  template <Chance C>
  constexpr Outcome Step(int action, C& chance) {
    // 1. Move.
    const int to_row = row + (action == kDown) - (action == kUp);
    const int to_column = column + (action == kRight) - (action == kLeft);
    if (IsFree(to_row, to_column)) row = to_row, column = to_column;
    // 2. Deliver.
    const bool delivers = row == RowOf(order) && column == ColumnOf(order);
    if (delivers) {
      const int other = chance.Below(kCorners - 1);
      order = other < order ? other : other + 1;
    }
    --steps_left;
    return {.reward = delivers ? 1.0f : 0.0f, .terminal = steps_left == 0};
  }

  constexpr void Observe(float* out) const {
    for (int i = 0; i < kCells * kMapChannels; ++i) out[i] = 0;
    out[(row * kSide + column) * kMapChannels] = 1;
    for (int place = 0; place < kPlaces; ++place) {
      const int cell = (place / 3 * 2 + 1) * kSide + place % 3 * 2 + 1;
      if (pillars[place]) out[cell * kMapChannels + 1] = 1;
    }
    out += kCells * kMapChannels;
    for (int corner = 0; corner < kCorners; ++corner) *out++ = corner == order ? 1.0f : 0.0f;
    *out = static_cast<float>(steps_left) / static_cast<float>(kSteps);
  }

  template <class State>
  constexpr void Fields(State& state) {
    state(row, 0, kSide - 1);
    state(column, 0, kSide - 1);
    for (bool& pillar : pillars) state(pillar);
    state(order, 0, kCorners - 1);
    state(steps_left, 1, kSteps);
  }

  friend constexpr bool operator==(const GridCourier&, const GridCourier&) = default;

 private:
  static constexpr int RowOf(int corner) { return corner / 2 * (kSide - 1); }
  static constexpr int ColumnOf(int corner) { return corner % 2 * (kSide - 1); }
  constexpr bool IsFree(int r, int c) const {
    if (r < 0 || r >= kSide || c < 0 || c >= kSide) return false;
    return r % 2 == 0 || c % 2 == 0 || !pillars[r / 2 * 3 + c / 2];
  }
};

}  // namespace starling::envs
