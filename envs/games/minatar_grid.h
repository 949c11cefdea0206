// The common part of the MinAtar games: a 10 x 10 grid of channels and six actions. No state.
#pragma once

#include <string>

#include "core/bits.h"
#include "envs/env.h"

namespace starling::envs {

template <int kNumChannels>
struct MinatarGrid {
  static constexpr int kNoop = 0, kLeft = 1, kUp = 2, kRight = 3, kDown = 4, kFire = 5;
  static constexpr int kNumActions = 6;
  static constexpr int kSide = 10, kChannels = kNumChannels;

  friend constexpr bool operator==(const MinatarGrid&, const MinatarGrid&) = default;

 protected:
  static EnvSpec SpecOf(const std::string& game) {
    return {.name = "minatar/" + game,
            .height = kSide,
            .width = kSide,
            .channels = kChannels,
            .actions = ActionSpace::Choice(kNumActions),
            .action_names = {"noop", "left", "up", "right", "down", "fire"}};
  }

  // The index of a cell's first channel in an observation.
  static constexpr int Cell(int row, int column) { return (row * kSide + column) * kChannels; }
  // As unsigned numbers, negative columns are large.
  static constexpr bool InGrid(int column) { return static_cast<unsigned>(column) < kSide; }

  static constexpr void Clear(float* out) {
    for (int i = 0; i < kSide * kSide * kChannels; ++i) out[i] = 0;
  }
  // Sets one channel in the columns of `row` whose bits are set.
  static constexpr void Light(int row, unsigned columns, int channel, float* out) {
    for (; columns != 0; columns &= columns - 1) {
      out[Cell(row, LowestBit(columns)) + channel] = 1;
    }
  }
};

}  // namespace starling::envs
