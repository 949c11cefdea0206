// The rules with their timing, each from a position set up by hand. trace_test.cc holds all of them
// to recorded play, and the cars and their pace.
#include "envs/games/minatar_freeway.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

namespace starling::envs::minatar_freeway_test {
namespace {

using Game = MinatarFreeway;

constexpr int kRight = 1, kLeft = -1;
constexpr double kDrawLeft = 0.49, kDrawRight = 0.5;

std::vector<Draw> Cars(const std::vector<int>& speeds, const std::vector<double>& directions) {
  std::vector<Draw> draws;
  for (const int speed : speeds) draws.push_back(Draw::Integer(1, 6, speed));
  for (const double direction : directions) draws.push_back(Draw::Uniform(direction));
  return draws;
}

const std::vector<double> kAllRight(8, kDrawRight), kAllLeft(8, kDrawLeft);

Game Fresh(const std::vector<int>& speeds, const std::vector<double>& directions) {
  Game game;
  ScriptedChance chance(Cars(speeds, directions));
  game.Reset(chance);
  EXPECT_EQ(chance.Mismatch(), "");
  return game;
}

void SetCar(Game& game, int row, int column, int direction, int timer, int speed = 5) {
  const int car = row - Game::kFirstCarRow;
  game.columns[car] = static_cast<std::int8_t>(column);
  game.directions[car] = static_cast<std::int8_t>(direction);
  game.timers[car] = static_cast<std::int8_t>(timer);
  game.speeds[car] = static_cast<std::int8_t>(speed);
}

// The cars stay in column 0 for a hundred steps, and the chicken may move.
Game At(int chicken_row) {
  Game game;
  for (int row = 1; row <= 8; ++row) SetCar(game, row, 0, kRight, 100);
  game.chicken_row = static_cast<std::int8_t>(chicken_row);
  game.chicken_timer = 0;
  return game;
}

Outcome Play(Game& game, int action = Game::kNoop, const std::vector<Draw>& draws = {}) {
  ScriptedChance chance(draws);
  const Outcome outcome = game.Step(action, chance);
  EXPECT_EQ(chance.Mismatch(), "");
  return outcome;
}

// The rows that the chicken is in after each step of `actions`.
std::vector<int> Walk(Game& game, const std::vector<int>& actions) {
  std::vector<int> rows;
  for (const int action : actions) {
    EXPECT_EQ(Play(game, action), Outcome{});
    rows.push_back(game.chicken_row);
  }
  return rows;
}

TEST(MinatarFreeway, ShowsTheCellBehindEachCarInTheChannelOfItsSpeed) {
  Game game = At(9);
  SetCar(game, 1, 0, kRight, 9, 1);  // behind it: around the edge, column 9
  SetCar(game, 2, 9, kLeft, 9, 2);   // around the edge, column 0
  SetCar(game, 3, 9, kRight, 9, 3);
  SetCar(game, 4, 0, kLeft, 9, 4);
  SetCar(game, 5, 6, kRight, 9, 5);
  std::vector<float> seen(700, -1);
  game.Observe(seen.data());
  const auto at = [&](int row, int column, int channel) {
    return seen[static_cast<std::size_t>((row * 10 + column) * 7 + channel)];
  };
  EXPECT_EQ(at(9, 4, 0), 1);
  EXPECT_EQ(at(1, 0, 1) + at(2, 9, 1) + at(3, 9, 1) + at(4, 0, 1) + at(5, 6, 1), 5);
  EXPECT_EQ(at(1, 9, 2), 1);
  EXPECT_EQ(at(2, 0, 3), 1);
  EXPECT_EQ(at(3, 8, 4), 1);
  EXPECT_EQ(at(4, 1, 5), 1);
  EXPECT_EQ(at(5, 5, 6), 1);
  EXPECT_EQ(std::accumulate(seen.begin(), seen.end(), 0.0f), 17) << "1 + 8 + 8, nothing else";
}

TEST(MinatarFreeway, OnlyUpAndDownMoveTheChicken) {
  for (const int action : {Game::kNoop, Game::kLeft, Game::kRight, Game::kFire}) {
    Game game = At(5);
    EXPECT_EQ(Walk(game, {action, action, Game::kUp}), (std::vector<int>{5, 5, 4})) << action;
  }
  for (int action = 0; action < Game::kNumActions; ++action) {
    Game acted = At(5), idle = At(5);
    Play(acted, action);
    Play(idle);
    const bool listed =
        std::count(Game::kMinimalActions.begin(), Game::kMinimalActions.end(), action) == 1;
    EXPECT_EQ(listed, acted != idle || action == Game::kNoop) << action;
  }
  EXPECT_TRUE(std::is_sorted(Game::kMinimalActions.begin(), Game::kMinimalActions.end()));
}

TEST(MinatarFreeway, ACarHitsTheChickenBeforeAndAfterItDrives) {
  const struct {
    const char* what;
    int action, car_row, car_column, direction, timer;
    int chicken_row;  // after the step; 9: it was hit
  } cases[] = {
      {"it steps under a car", Game::kUp, 4, 4, kRight, 3, 9},
      {"also if the car drives on in that step", Game::kUp, 4, 4, kRight, 0, 9},
      {"it steps where a car arrives", Game::kUp, 4, 3, kRight, 0, 9},
      {"a car from the left arrives", Game::kNoop, 5, 3, kRight, 0, 9},
      {"a car from the right arrives", Game::kNoop, 5, 5, kLeft, 0, 9},
      {"it steps away in time", Game::kUp, 5, 3, kRight, 0, 4},
      {"the car is a column short", Game::kNoop, 5, 2, kRight, 0, 5},
      {"the car is in another row", Game::kNoop, 4, 3, kRight, 0, 5},
  };
  for (const auto& [what, action, car_row, car_column, direction, timer, row] : cases) {
    Game game = At(5);
    SetCar(game, car_row, car_column, direction, timer);
    EXPECT_EQ(Play(game, action), Outcome{}) << what;
    EXPECT_EQ(game.chicken_row, row) << what;
  }
}

TEST(MinatarFreeway, EndsWithStep2501) {
  Game game = Fresh({1, 2, 3, 4, 5, 1, 2, 3}, kAllRight);
  for (int step = 1; step <= 2500; ++step) ASSERT_EQ(Play(game), Outcome{}) << step;
  EXPECT_EQ(Play(game), (Outcome{0, true}));
}

TEST(MinatarFreeway, AnArrivalOrAHitInTheLastStepCounts) {
  Game arrives = At(1), hit = At(3);
  arrives.steps_left = hit.steps_left = 1;
  EXPECT_EQ(Play(arrives, Game::kUp, Cars({1, 1, 1, 1, 1, 1, 1, 1}, kAllLeft)), (Outcome{1, true}));
  SetCar(hit, 3, 5, kLeft, 0);
  EXPECT_EQ(Play(hit), (Outcome{0, true}));
  EXPECT_EQ(hit.chicken_row, 9);
}

}  // namespace
}  // namespace starling::envs::minatar_freeway_test
