#include "envs/games/catch.h"

#include <gtest/gtest.h>

namespace starling::envs::catch_test {
namespace {

Catch WithBallIn(int column) {
  ScriptedChance chance({Draw::Below(5, column)});
  Catch game;
  game.Reset(chance);
  EXPECT_EQ(chance.Mismatch(), "");
  return game;
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

}  // namespace
}  // namespace starling::envs::catch_test
