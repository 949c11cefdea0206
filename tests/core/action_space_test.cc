#include "core/action_space.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace starling {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr ActionBounds kClip = ActionBounds::kClip, kTanh = ActionBounds::kTanh;

TEST(ActionSpaceTest, CountsWordsOutputsAndMasks) {
  const ActionSpace one = ActionSpace::Choice(6);
  EXPECT_TRUE(one.one_choice());
  EXPECT_EQ(one.width(), 1);
  EXPECT_EQ(one.outputs(), 6);
  EXPECT_EQ(one.mask(), 0);
  ActionSpace several = ActionSpace::Choices({3, 2});
  several.masked = true;
  EXPECT_FALSE(several.one_choice());
  EXPECT_EQ(several.width(), 2);
  EXPECT_EQ(several.outputs(), 5);
  EXPECT_EQ(several.mask(), 5);
  const ActionSpace box = ActionSpace::Box({-1, 0, 0}, {1, 1, 9});
  EXPECT_FALSE(box.one_choice());
  EXPECT_EQ(box.width(), 3);
  EXPECT_EQ(box.outputs(), 6) << "means and deviations";
}

TEST(IntoBoundsTest, MinusOneAndOneAreTheBounds) {
  for (const auto& [u, expected] : {std::pair(-1, 10), std::pair(0, 15), std::pair(1, 20),
                                    std::pair(7, 20), std::pair(-9, 10)}) {
    EXPECT_EQ(IntoBounds(static_cast<float>(u), 10, 20, kClip), static_cast<float>(expected)) << u;
  }
  EXPECT_FLOAT_EQ(IntoBounds(0.5f, -2, 2, kTanh), 2 * std::tanh(0.5f));
  EXPECT_EQ(IntoBounds(100, -2, 2, kTanh), 2);
}

TEST(IntoBoundsTest, WithoutBothBoundsACoordinateIsItself) {
  EXPECT_EQ(IntoBounds(-12.5f, -kInfinity, kInfinity, kClip), -12.5f);
  EXPECT_EQ(IntoBounds(-12.5f, 0, kInfinity, kClip), 0);
  EXPECT_EQ(IntoBounds(12.5f, 0, kInfinity, kClip), 12.5f);
  // As Gymnasium writes an unbounded box of float32.
  EXPECT_EQ(IntoBounds(2, -3.4028235e38f, 3.4028235e38f, kClip), 2);
}

TEST(IntoBoundsTest, IsFiniteAndWithinTheBounds) {
  for (const float u : {static_cast<float>(NAN), kInfinity, -kInfinity, 3e38f, 0.3f}) {
    for (const auto& [low, high] : {std::pair(-kInfinity, kInfinity), std::pair(0.1f, 0.7f),
                                    std::pair(5.0f, 5.0f), std::pair(-kInfinity, -3.0f)}) {
      const float value = IntoBounds(u, low, high, kClip);
      EXPECT_TRUE(std::isfinite(value)) << u;
      EXPECT_GE(value, low);
      EXPECT_LE(value, high);
    }
  }
}

// Values 1 and 3 of the first choice are allowed, all of the second.
TEST(RandomActionTest, TakesEachAllowedValue) {
  const ActionSpace space = ActionSpace::Choices({4, 2});
  const std::vector<float> mask{0, 1, 0, 0.5f, 1, 1};
  RandomStream stream;
  std::vector<int> taken(6);
  for (int i = 0; i < 400; ++i) {
    std::vector<std::int32_t> words(2);
    RandomAction(space, mask, stream, words);
    CheckActions(space, words, 0);
    ++taken[static_cast<std::size_t>(words[0])];
    ++taken[static_cast<std::size_t>(4 + words[1])];
  }
  for (std::size_t value = 0; value < taken.size(); ++value) {
    EXPECT_EQ(taken[value] > 100, mask[value] != 0) << value;
  }
}

TEST(RandomActionTest, AMaskThatAllowsNothingIsNone) {
  RandomStream stream;
  std::vector<std::int32_t> words(1);
  RandomAction(ActionSpace::Choice(3), std::vector<float>{0, 0, 0}, stream, words);
  CheckActions(ActionSpace::Choice(3), words, 0);
}

TEST(RandomActionTest, FillsABox) {
  const ActionSpace space = ActionSpace::Box({-5, -5}, {5, 5});
  RandomStream stream;
  for (int i = 0; i < 100; ++i) {
    std::vector<std::int32_t> words(2);
    RandomAction(space, {}, stream, words);
    for (const std::int32_t word : words) EXPECT_LE(std::fabs(FloatOf(word)), 1);
  }
}

TEST(CheckActionsDeathTest, RefusesWhatIsNoAction) {
  const std::vector<std::int32_t> choices{2, 1, 0, 2}, broken{WordOf(static_cast<float>(NAN))};
  EXPECT_DEATH(CheckActions(ActionSpace::Choices({3, 2}), choices, 7), "action 2 of env 8");
  EXPECT_DEATH(CheckActions(ActionSpace::Box({0}, {1}), broken, 7), "action nan of env 7");
}

}  // namespace
}  // namespace starling
