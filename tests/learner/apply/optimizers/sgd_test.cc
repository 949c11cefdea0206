#include <gtest/gtest.h>

#include "tests/learner/apply/optimizer_fixture.h"

namespace starling::learner {
namespace {

TEST(Sgd, MovesAgainstTheGradient) {
  OneWeight one({.kind = OptimizerKind::kSgd});
  EXPECT_EQ(one.Step(2, 0.25), 0.5f);        // 1 - 0.25 * 2
  EXPECT_EQ(one.Step(-4, 0.25), 1.5f);       // 0.5 + 0.25 * 4
  EXPECT_EQ(one.Step(2, 0.25, 0.5), 1.25f);  // half a step
}

TEST(Sgd, MomentumKeepsAPartOfTheLastStep) {
  OneWeight one({.kind = OptimizerKind::kSgd, .momentum = 0.5});
  EXPECT_EQ(one.Step(2, 0.25), 0.5f);    // v = 2
  EXPECT_EQ(one.Step(1, 0.25), 0);       // v = 0.5 * 2 + 1 = 2
  EXPECT_EQ(one.Step(0, 0.25), -0.25f);  // v = 1: it moves on without a gradient
  EXPECT_EQ(one.state(0), 1);
}

TEST(Sgd, AChangeOfTheRateActsOnTheWholeMomentum) {
  OneWeight one({.kind = OptimizerKind::kSgd, .momentum = 0.5});
  one.Step(4, 0.25);                             // v = 4, w = 0
  EXPECT_EQ(one.Step(0, 0.125), -0.25f);         // v = 2
  EXPECT_EQ(one.Step(0, 0.125, 0.5), -0.3125f);  // v = 1, half the step
}

}  // namespace
}  // namespace starling::learner
