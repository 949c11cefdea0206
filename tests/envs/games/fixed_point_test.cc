#include "envs/games/fixed_point.h"

#include <gtest/gtest.h>

#include <cmath>

namespace starling::envs::fixed_point_test {
namespace {

constexpr double kPart = 1.0 / FixedPoint::kOne;

double ValueOf(FixedPoint number) { return static_cast<double>(number.parts) * kPart; }

TEST(FixedPoint, ConstantsAreTheNearest) {
  EXPECT_EQ(FixedPoint(1.0).parts, 1 << 24);
  EXPECT_EQ(FixedPoint(0.6 * 0x1p-24).parts, 1);
  EXPECT_EQ(FixedPoint(0.4 * 0x1p-24).parts, 0);
  EXPECT_EQ(FixedPoint(-0.6 * 0x1p-24).parts, -1);
  EXPECT_EQ(static_cast<float>(FixedPoint(-2.4)), -2.4f);
}

TEST(FixedPoint, ProductsAreRoundedDownAndQuotientsTowardsZero) {
  const FixedPoint part = FixedPoint::OfParts(1);
  EXPECT_EQ((FixedPoint(0.5) * part).parts, 0);
  EXPECT_EQ((FixedPoint(-0.5) * part).parts, -1);
  EXPECT_EQ((part / 2.0).parts, 0);
  EXPECT_EQ((-part / 2.0).parts, 0);
  EXPECT_EQ(FixedPoint(3.0) * -2.5, FixedPoint(-7.5));
  EXPECT_EQ(FixedPoint(-7.5) / 2.5, FixedPoint(-3.0));
  EXPECT_EQ(FixedPoint(8'000.0) / 0.5, FixedPoint(16'000.0));
  EXPECT_LT(FixedPoint(-1.0), FixedPoint(0.5));
}

TEST(FixedPoint, SineAndCosineOfSmallAngles) {
  for (int parts = -5'033'164; parts <= 5'033'164; parts += 977) {  // up to 0.3
    const FixedPoint angle = FixedPoint::OfParts(parts);
    ASSERT_NEAR(ValueOf(Sine(angle)), std::sin(ValueOf(angle)), 3 * kPart) << parts;
    ASSERT_NEAR(ValueOf(Cosine(angle)), std::cos(ValueOf(angle)), 3 * kPart) << parts;
  }
}

}  // namespace
}  // namespace starling::envs::fixed_point_test
