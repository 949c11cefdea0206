#include "envs/games/dummy.h"

#include <gtest/gtest.h>

#include <array>

namespace starling::envs::dummy_test {
namespace {

std::array<float, 3> Seen(const Dummy& game) {
  std::array<float, 3> seen{-1, -1, -1};
  game.Observe(seen.data());
  return seen;
}

TEST(Dummy, PaysForTheSideOfTheLightThatWasSeen) {
  ScriptedChance chance(
      {Draw::Below(2, 1), Draw::Below(2, 0), Draw::Below(2, 0), Draw::Below(2, 1)});
  Dummy game;
  game.Reset(chance);
  EXPECT_EQ(Seen(game), (std::array<float, 3>{0, 1, 1}));
  EXPECT_EQ(game.Step(Dummy::kRight, chance), (Outcome{1, false}));
  EXPECT_EQ(Seen(game), (std::array<float, 3>{1, 0, 0.875f}));
  EXPECT_EQ(game.Step(Dummy::kRight, chance), (Outcome{0, false}));
  EXPECT_EQ(game.Step(Dummy::kNoop, chance), (Outcome{0, false}));
  EXPECT_EQ(Seen(game), (std::array<float, 3>{0, 1, 0.625f}));
  EXPECT_EQ(chance.Mismatch(), "");
}

TEST(Dummy, EndsAfterEightSteps) {
  RandomStream stream;
  RandomChance chance(stream);
  Dummy game;
  game.Reset(chance);
  for (int step = 1; step <= 8; ++step) {
    const int right = game.light == 0 ? Dummy::kLeft : Dummy::kRight;
    EXPECT_EQ(game.Step(right, chance), (Outcome{1, step == 8})) << step;
  }
}

}  // namespace
}  // namespace starling::envs::dummy_test
