// Where the ball goes, as a table, and the rules that recorded play reaches rarely, each from a
// position set up by hand. trace_test.cc holds the others to recorded play.
#include "envs/games/minatar_breakout.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

namespace starling::envs::minatar_breakout_test {
namespace {

using Game = MinatarBreakout;

struct Ball {
  int row, column, row_step, column_step;
  friend bool operator==(const Ball&, const Ball&) = default;
  friend void PrintTo(const Ball& ball, std::ostream* out) {
    *out << "row " << ball.row << ", column " << ball.column << ", heading (" << ball.row_step
         << ", " << ball.column_step << ")";
  }
};

constexpr std::uint16_t Column(int column) { return static_cast<std::uint16_t>(1u << column); }

Game At(const Ball& ball, int paddle) {
  Game game;
  game.ball_row = game.trail_row = ball.row;
  game.ball_column = game.trail_column = ball.column;
  game.row_step = ball.row_step;
  game.column_step = ball.column_step;
  game.paddle = paddle;
  return game;
}

void SetBricks(Game& game, std::uint16_t row1, std::uint16_t row2, std::uint16_t row3) {
  game.bricks[0] = row1;
  game.bricks[1] = row2;
  game.bricks[2] = row3;
}

int BricksLeft(const Game& game) {
  int left = 0;
  for (int row = 0; row < 10; ++row) {
    for (int column = 0; column < 10; ++column) left += game.BrickAt(row, column);
  }
  return left;
}

Ball BallOf(const Game& game) {
  return {game.ball_row, game.ball_column, game.row_step, game.column_step};
}

Outcome Play(Game& game, int action = Game::kNoop) {
  ScriptedChance none({});
  const Outcome outcome = game.Step(action, none);
  EXPECT_EQ(none.Mismatch(), "") << "a step draws nothing";
  return outcome;
}

TEST(MinatarBreakout, ShowsFourChannels) {
  Game game = At({5, 2, 1, 1}, 7);
  SetBricks(game, Column(0), 0, Column(9));
  Play(game);
  std::vector<float> seen(400, -1);
  game.Observe(seen.data());
  const auto at = [&](int row, int column, int channel) {
    return seen[static_cast<std::size_t>((row * 10 + column) * 4 + channel)];
  };
  EXPECT_EQ(at(9, 7, 0), 1);
  EXPECT_EQ(at(6, 3, 1), 1);
  EXPECT_EQ(at(5, 2, 2), 1);
  EXPECT_EQ(at(1, 0, 3), 1);
  EXPECT_EQ(at(3, 9, 3), 1);
  EXPECT_EQ(std::accumulate(seen.begin(), seen.end(), 0.0f), 5) << "and nothing else is lit";
}

TEST(MinatarBreakout, TheBallTurnsAtWallsBricksAndThePaddle) {
  const struct {
    const char* rule;
    Ball before;
    int paddle;
    Outcome outcome;
    Ball after;
  } cases[] = {
      {"it flies on", {5, 2, 1, 1}, 7, {0, false}, {6, 3, 1, 1}},
      {"it slides along a side wall", {5, 9, 1, 1}, 4, {0, false}, {6, 9, 1, -1}},
      {"it turns at the top", {0, 5, -1, 1}, 4, {0, false}, {0, 6, 1, 1}},
      {"an upper corner turns it both ways", {0, 0, -1, -1}, 4, {0, false}, {0, 0, 1, 1}},
      {"a brick keeps it in its row", {4, 4, -1, 1}, 4, {1, false}, {4, 5, 1, 1}},
      {"beside a wall, in its column too", {4, 9, -1, 1}, 4, {1, false}, {4, 9, 1, -1}},
      {"the paddle under it turns it up", {8, 4, 1, 1}, 4, {0, false}, {8, 5, -1, 1}},
      {"under the cell ahead, back as well", {8, 4, 1, 1}, 5, {0, false}, {8, 5, -1, -1}},
      {"missed, it falls into the last row", {8, 4, 1, -1}, 5, {0, true}, {9, 3, 1, -1}},
      {"in a lower corner, saved", {8, 9, 1, 1}, 9, {0, false}, {8, 9, -1, -1}},
      {"lost with the paddle beside", {8, 9, 1, 1}, 8, {0, true}, {9, 9, 1, -1}},
  };
  for (const auto& [rule, before, paddle, outcome, after] : cases) {
    Game game = At(before, paddle);
    EXPECT_EQ(Play(game), outcome) << rule;
    EXPECT_EQ(BallOf(game), after) << rule;
    EXPECT_EQ(BricksLeft(game), outcome.reward > 0 ? 29 : 30) << rule;
  }
}

TEST(MinatarBreakout, AClearedWallComesBackAtThePaddleRowOnly) {
  Game game = At({4, 1, -1, 1}, 8);
  SetBricks(game, 0, 0, Column(2));
  EXPECT_EQ(Play(game), (Outcome{1, false})) << "the last brick";
  for (int row = 5; row <= 8; ++row) {
    EXPECT_EQ(Play(game), Outcome{});
    EXPECT_EQ(game.ball_row, row);
    EXPECT_EQ(BricksLeft(game), 0) << "row " << row;
  }
  EXPECT_EQ(game.ball_column, 6);
  EXPECT_EQ(Play(game, Game::kLeft), Outcome{});  // the paddle slides under the cell ahead
  EXPECT_EQ(BricksLeft(game), 30);
  EXPECT_EQ(BallOf(game), (Ball{8, 7, -1, -1}));
}

TEST(MinatarBreakout, AWallWithOneBrickLeftDoesNotComeBack) {
  Game game = At({8, 4, 1, 1}, 4);
  SetBricks(game, Column(0), 0, 0);
  Play(game);
  EXPECT_EQ(BricksLeft(game), 1);
}

}  // namespace
}  // namespace starling::envs::minatar_breakout_test
