#include "envs/games/catch.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>

namespace starling::envs::catch_test {
namespace {

using Cells = std::array<float, Catch::kRows * Catch::kColumns>;

Catch WithBallIn(int column) {
  ScriptedChance chance({Draw::Below(5, column)});
  Catch game;
  game.Reset(chance);
  EXPECT_EQ(chance.Mismatch(), "");
  return game;
}

Cells Seen(const Catch& game) {
  Cells cells;
  cells.fill(-1);
  game.Observe(cells.data());
  return cells;
}

// Plays `action` in each of the nine steps; all but the last must be (0, not over).
Outcome PlayOut(Catch& game, int action) {
  ScriptedChance none({});
  for (int step = 1; step <= 8; ++step) EXPECT_EQ(game.Step(action, none), Outcome{}) << step;
  const Outcome last = game.Step(action, none);
  EXPECT_EQ(none.Mismatch(), "");
  return last;
}

TEST(Catch, PaysForTheBallOverThePaddle) {
  for (int column = 0; column < 5; ++column) {
    Catch stay = WithBallIn(column), left = stay, right = stay;
    EXPECT_EQ(PlayOut(stay, Catch::kStay), (Outcome{column == 2 ? 1.0f : -1.0f, true})) << column;
    EXPECT_EQ(PlayOut(left, Catch::kLeft), (Outcome{column == 0 ? 1.0f : -1.0f, true})) << column;
    EXPECT_EQ(PlayOut(right, Catch::kRight), (Outcome{column == 4 ? 1.0f : -1.0f, true})) << column;
  }
}

TEST(Catch, ThePaddleStopsAtTheEdges) {
  ScriptedChance none({});
  Catch game = WithBallIn(1);
  for (const int expected : {1, 0, 0, 0}) {
    game.Step(Catch::kLeft, none);
    EXPECT_EQ(game.paddle, expected);
  }
  for (const int expected : {1, 2, 3, 4, 4}) {
    game.Step(Catch::kRight, none);
    EXPECT_EQ(game.paddle, expected);
  }
}

TEST(Catch, ShowsBallAndPaddle) {
  ScriptedChance none({});
  Catch game = WithBallIn(3);
  Cells cells = Seen(game);
  EXPECT_EQ(cells[3], 1);          // row 0, column 3
  EXPECT_EQ(cells[9 * 5 + 2], 1);  // the paddle
  EXPECT_EQ(std::accumulate(cells.begin(), cells.end(), 0.0f), 2);
  game.Step(Catch::kRight, none);
  cells = Seen(game);
  EXPECT_EQ(cells[5 + 3], 1);
  EXPECT_EQ(cells[9 * 5 + 3], 1);
  EXPECT_EQ(std::accumulate(cells.begin(), cells.end(), 0.0f), 2);
}

}  // namespace
}  // namespace starling::envs::catch_test
