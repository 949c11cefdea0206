#include <gtest/gtest.h>

#include <cmath>

#include "tests/learner/apply/optimizer_fixture.h"

namespace starling::learner {
namespace {

OptimizerConfig Adam(double beta1, double beta2, double epsilon) {
  return {.kind = OptimizerKind::kAdam, .epsilon = epsilon, .beta1 = beta1, .beta2 = beta2};
}

TEST(Adam, DividesTheMeanByTheRootOfTheMeanSquareBothCorrected) {
  OneWeight one(Adam(0.5, 0.75, 2));
  // m = 1, m' = 2, v = 1, v' = 4; w = 1 - 0.5 * 2 / (2 + 2) = 0.75
  EXPECT_FLOAT_EQ(one.Step(2, 0.5), 0.75f);
  EXPECT_EQ(one.state(0), 1);
  EXPECT_EQ(one.state(1), 1);
  // m = 0.5 - 1 = -0.5, m' = -0.5 / (1 - 0.25) = -2/3;
  // v = 0.75 + 1 = 1.75, v' = 1.75 / (1 - 0.5625) = 4; w = 0.75 + 0.5 * (2/3) / (2 + 2)
  EXPECT_FLOAT_EQ(one.Step(-2, 0.5), 0.75f + 1.0f / 12);
  EXPECT_EQ(one.state(0), -0.5f);
  EXPECT_EQ(one.state(1), 1.75f);
}

TEST(Adam, TheFirstStepIsTheLearningRateForAnyGradient) {
  for (const float g : {1e-6f, 1.0f, 1e6f}) {
    OneWeight one(Adam(0.9, 0.999, 1e-20));
    EXPECT_FLOAT_EQ(one.Step(g, 0.25), 0.75f) << g;
    OneWeight other(Adam(0.9, 0.999, 1e-20));
    EXPECT_FLOAT_EQ(other.Step(-g, 0.25), 1.25f) << g;
  }
}

// optimizer.bias_correction belongs to RMSProp; the configuration refuses it for Adam.
TEST(Adam, AlwaysCorrects) {
  OptimizerConfig config = Adam(0.9, 0.999, 1e-20);
  config.bias_correction = false;
  EXPECT_FLOAT_EQ(OneWeight(config).Step(3, 0.25), 0.75f);
}

}  // namespace
}  // namespace starling::learner
