#include "envs/games/grid_courier.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/random.h"

namespace starling::envs::grid_courier_test {
namespace {

constexpr int kMap = 98;

std::vector<float> Seen(const GridCourier& game) {
  std::vector<float> seen(kMap + 5, -9);
  game.Observe(seen.data());
  return seen;
}

GridCourier At(int row, int column, int order = 0) {
  GridCourier game;
  game.row = row;
  game.column = column;
  game.order = order;
  return game;
}

// A step that draws nothing.
Outcome Step(GridCourier& game, int action) {
  ScriptedChance none({});
  const Outcome outcome = game.Step(action, none);
  EXPECT_EQ(none.Mismatch(), "");
  return outcome;
}

std::vector<int> Place(const GridCourier& game) { return {game.row, game.column}; }

TEST(GridCourier, DrawsTheOrderAndThePillarsButForTheMiddle) {
  std::vector<Draw> draws{Draw::Integer(0, 4, 2)};
  for (const int pillar : {1, 0, 0, 0, 1, 1, 0, 0, 1}) draws.push_back(Draw::Integer(0, 2, pillar));
  draws.erase(draws.begin() + 5);  // the middle is not drawn
  ScriptedChance chance(draws);
  GridCourier game = At(0, 3);
  game.pillars[1] = true;
  game.steps_left = 7;
  game.Reset(chance);
  EXPECT_EQ(chance.Mismatch(), "");
  std::vector<float> expected(kMap + 5, 0);
  expected[(3 * 7 + 3) * 2] = 1;  // the courier
  for (const int cell : {1 * 7 + 1, 3 * 7 + 5, 5 * 7 + 5}) {
    expected[static_cast<std::size_t>(cell * 2 + 1)] = 1;
  }
  expected[kMap + 2] = 1;
  expected[kMap + 4] = 1;
  EXPECT_EQ(Seen(game), expected);
}

TEST(GridCourier, MovesACellAndStaysAtTheEdge) {
  GridCourier game = At(3, 3, 3);
  const auto after = [&](int action) {
    Step(game, action);
    return Place(game);
  };
  using Cell = std::vector<int>;
  EXPECT_EQ(after(GridCourier::kUp), (Cell{2, 3}));
  EXPECT_EQ(after(GridCourier::kLeft), (Cell{2, 2}));
  EXPECT_EQ(after(GridCourier::kDown), (Cell{3, 2}));
  EXPECT_EQ(after(GridCourier::kRight), (Cell{3, 3}));
  EXPECT_EQ(after(GridCourier::kStay), (Cell{3, 3}));
  game = At(0, 3, 3);
  EXPECT_EQ(after(GridCourier::kUp), (Cell{0, 3}));
  game = At(6, 3);
  EXPECT_EQ(after(GridCourier::kDown), (Cell{6, 3}));
  game = At(3, 0);
  EXPECT_EQ(after(GridCourier::kLeft), (Cell{3, 0}));
  game = At(3, 6);
  EXPECT_EQ(after(GridCourier::kRight), (Cell{3, 6}));
}

TEST(GridCourier, PillarsStandInTheWay) {
  GridCourier game = At(2, 1);
  game.pillars[0] = game.pillars[5] = true;  // (1, 1) and (3, 5)
  Step(game, GridCourier::kUp);
  EXPECT_EQ(Place(game), (std::vector<int>{2, 1}));
  game.pillars[0] = false;
  Step(game, GridCourier::kUp);
  EXPECT_EQ(Place(game), (std::vector<int>{1, 1}));
  game = At(3, 4);
  game.pillars[5] = true;
  Step(game, GridCourier::kRight);
  EXPECT_EQ(Place(game), (std::vector<int>{3, 4}));
}

TEST(GridCourier, AnOrderPaysInItsCornerAndTheNextIsAnother) {
  const std::vector<std::vector<int>> beside{{0, 1}, {0, 5}, {6, 1}, {6, 5}};
  for (int order = 0; order < 4; ++order) {
    for (int drawn = 0; drawn < 3; ++drawn) {
      const auto& cell = beside[static_cast<std::size_t>(order)];
      GridCourier game = At(cell[0], cell[1], order);
      ScriptedChance chance({Draw::Integer(0, 3, drawn)});
      const int toward = order % 2 == 0 ? GridCourier::kLeft : GridCourier::kRight;
      EXPECT_EQ(game.Step(toward, chance), (Outcome{1, false}));
      EXPECT_EQ(chance.Mismatch(), "");
      EXPECT_EQ(game.order, drawn < order ? drawn : drawn + 1);
      EXPECT_EQ(Step(game, GridCourier::kStay), (Outcome{0, false})) << "not wanted any more";
    }
  }
  GridCourier elsewhere = At(0, 5, 0);
  EXPECT_EQ(Step(elsewhere, GridCourier::kRight), (Outcome{0, false})) << "the wrong corner";
}

TEST(GridCourier, EndsAfterAHundredSteps) {
  GridCourier game = At(3, 3);
  for (int step = 1; step < 100; ++step) {
    ASSERT_EQ(Step(game, GridCourier::kStay), (Outcome{0, false})) << step;
    ASSERT_EQ(Seen(game)[kMap + 4], static_cast<float>(100 - step) / 100);
  }
  EXPECT_EQ(Step(game, GridCourier::kStay), (Outcome{0, true}));
}

// Whatever pillars stand, each corner is 6 moves from the middle.
TEST(GridCourier, EveryCornerCanBeReached) {
  for (int drawn = 0; drawn < 512; ++drawn) {
    GridCourier game;
    for (int place = 0; place < 9; ++place)
      game.pillars[place] = place != 4 && (drawn >> place & 1);
    for (int order = 0; order < 4; ++order) {
      game.row = game.column = 3;
      game.order = order;
      ScriptedChance chance({Draw::Integer(0, 3, 0)});
      const int down = order / 2 == 1 ? GridCourier::kDown : GridCourier::kUp;
      const int across = order % 2 == 1 ? GridCourier::kRight : GridCourier::kLeft;
      // Off the lattice of pillars, then along the edge.
      float paid = game.Step(down, chance).reward;
      for (int i = 0; i < 3; ++i) paid += game.Step(across, chance).reward;
      for (int i = 0; i < 2; ++i) paid += game.Step(down, chance).reward;
      ASSERT_EQ(paid, 1) << drawn << ", corner " << order;
    }
    game.steps_left = 100;
  }
}

}  // namespace
}  // namespace starling::envs::grid_courier_test
