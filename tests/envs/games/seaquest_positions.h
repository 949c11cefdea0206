// Positions of minatar/seaquest set up by hand, and what is seen of them.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "envs/games/minatar_seaquest.h"

namespace starling::envs::seaquest {

using Game = MinatarSeaquest;
using Swimmer = Game::Swimmer;
using Draws = std::vector<Draw>;
using Cells = std::vector<std::pair<int, int>>;  // (row, column), in order

inline constexpr int kLeftward = -1, kRightward = 1;
inline constexpr int kNever = 100;  // a wait that no test waits for

inline Swimmer At(int row, int column, int step, int wait = kNever, int gun = kNever) {
  return {.column = static_cast<std::int8_t>(column),
          .row = static_cast<std::int8_t>(row),
          .step = static_cast<std::int8_t>(step),
          .wait = static_cast<std::int8_t>(wait),
          .gun = static_cast<std::int8_t>(gun)};
}

// The sub below the surface, facing left; nobody comes for a long time.
inline Game Diving(int row, int column, int divers_held = 1) {
  Game game;
  game.row = row;
  game.column = column;
  game.surfaced = false;
  game.divers_held = divers_held;
  game.enemy_timer = game.diver_timer = 1000;
  return game;
}

inline Outcome Play(Game& game, int action = Game::kNoop, const Draws& draws = {}) {
  ScriptedChance chance(draws);
  const Outcome outcome = game.Step(action, chance);
  EXPECT_EQ(chance.Mismatch(), "");
  return outcome;
}

inline std::vector<float> Seen(const Game& game) {
  std::vector<float> seen(1000, -1);
  game.Observe(seen.data());
  return seen;
}

// The lit cells of a channel.
inline Cells Lit(const Game& game, int channel) {
  const std::vector<float> seen = Seen(game);
  Cells lit;
  for (int cell = 0; cell < 100; ++cell) {
    if (seen[static_cast<std::size_t>(cell * 10 + channel)] == 1) {
      lit.emplace_back(cell / 10, cell % 10);
    }
  }
  return lit;
}

}  // namespace starling::envs::seaquest
