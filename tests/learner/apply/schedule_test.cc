#include "learner/apply/schedule.h"

#include <gtest/gtest.h>

#include <vector>

namespace starling::learner {
namespace {

TEST(LearningRate, FallsOnALineToZeroAtTheEndOfTheRun) {
  const OptimizerConfig config{.lr = 0.004, .lr_schedule = LrSchedule::kLinear};
  EXPECT_DOUBLE_EQ(LearningRate(config, 1000, 0, 10), 0.004);
  EXPECT_DOUBLE_EQ(LearningRate(config, 1000, 250, 10), 0.003);
  EXPECT_DOUBLE_EQ(LearningRate(config, 1000, 999, 10), 0.000004);
  EXPECT_EQ(LearningRate(config, 1000, 1000, 10), 0);
}

TEST(LearningRate, IsNeverNegativePastTheEnd) {
  const OptimizerConfig config{.lr_schedule = LrSchedule::kLinear};
  EXPECT_EQ(LearningRate(config, 1000, 1001, 10), 0);
  EXPECT_EQ(LearningRate(config, 1000, ~std::uint64_t{0}, 10), 0);
  EXPECT_EQ(LearningRate(config, 0, 0, 10), 0);
}

TEST(LearningRate, StaysWhenConstant) {
  const OptimizerConfig config{.lr = 7e-4, .lr_schedule = LrSchedule::kConstant};
  for (const std::uint64_t steps : {0, 500, 1000, 5000}) {
    EXPECT_EQ(LearningRate(config, 1000, steps, 10), 7e-4);
  }
}

TEST(LearningRate, WarmUpCountsTheSamplesOfTheUpdate) {
  const OptimizerConfig config{
      .lr = 0.004, .lr_schedule = LrSchedule::kConstant, .warmup_steps = 400};
  EXPECT_DOUBLE_EQ(LearningRate(config, 1000, 0, 100), 0.001);  // 100 / 400, not 0
  EXPECT_DOUBLE_EQ(LearningRate(config, 1000, 100, 100), 0.002);
  EXPECT_DOUBLE_EQ(LearningRate(config, 1000, 200, 50), 0.0025);
  EXPECT_EQ(LearningRate(config, 1000, 300, 100), 0.004);
  EXPECT_EQ(LearningRate(config, 1000, 399, 100), 0.004);  // never more than lr
  EXPECT_EQ(LearningRate(config, 1000, 400, 100), 0.004);
}

TEST(LearningRate, WarmUpMultipliesTheSchedule) {
  const OptimizerConfig config{
      .lr = 0.004, .lr_schedule = LrSchedule::kLinear, .warmup_steps = 400};
  // (100 + 100) / 400 * (1 - 100 / 1000) = 0.45
  EXPECT_DOUBLE_EQ(LearningRate(config, 1000, 100, 100), 0.0018);
  EXPECT_DOUBLE_EQ(LearningRate(config, 1000, 500, 100), 0.002);
  EXPECT_EQ(LearningRate(config, 1000, 1000, 100), 0);
}

TEST(EntropyCoef, GoesFromOneValueToTheOtherAndStays) {
  const LossConfig config{.entropy = 0.05, .entropy_end = 0.01};
  EXPECT_EQ(EntropyCoef(config, 1000, 0), 0.05);
  EXPECT_DOUBLE_EQ(EntropyCoef(config, 1000, 500), 0.03);
  EXPECT_EQ(EntropyCoef(config, 1000, 1000), 0.01);
  EXPECT_EQ(EntropyCoef(config, 1000, 9000), 0.01);
}

TEST(EntropyCoef, MayRiseOrStay) {
  EXPECT_DOUBLE_EQ(EntropyCoef({.entropy = 0.01, .entropy_end = 0.03}, 1000, 500), 0.02);
  EXPECT_DOUBLE_EQ(EntropyCoef({.entropy = 0.01, .entropy_end = 0.01}, 1000, 333), 0.01);
}

TEST(EntropyCoef, FallsByTheSameFactorInEveryStepWhenExponential) {
  LossConfig config{.entropy = 0.08, .entropy_end = 0.005};  // a sixteenth: four halvings
  config.entropy_schedule = EntropySchedule::kExponential;
  EXPECT_EQ(EntropyCoef(config, 1000, 0), 0.08);
  EXPECT_DOUBLE_EQ(EntropyCoef(config, 1000, 250), 0.04);
  EXPECT_DOUBLE_EQ(EntropyCoef(config, 1000, 500), 0.02);
  EXPECT_EQ(EntropyCoef(config, 1000, 1000), 0.005);
  EXPECT_EQ(EntropyCoef(config, 1000, 9000), 0.005);
}

TEST(EntropyCoef, IgnoresTheEndWhenConstant) {
  LossConfig config{.entropy = 0.05, .entropy_end = 0};
  config.entropy_schedule = EntropySchedule::kConstant;
  for (const std::uint64_t steps : {0, 500, 1000, 9000}) {
    EXPECT_EQ(EntropyCoef(config, 1000, steps), 0.05);
  }
}

TEST(LinearScale, FollowsTheSamplesOfTheUpdate) {
  OptimizerConfig config;
  config.scale_lr = LrScaling::kNone;
  EXPECT_EQ(LinearScale(config, 480, 160), 1);
  config.scale_lr = LrScaling::kLinear;
  EXPECT_EQ(LinearScale(config, 160, 160), 1);
  EXPECT_EQ(LinearScale(config, 480, 160), 3);  // three actors' gradients in one update
  EXPECT_EQ(LinearScale(config, 80, 160), 0.5);
}

TEST(DampingScale, IsTheWeightedMeanOfTheInverseStaleness) {
  using Parts = std::vector<Contribution>;
  EXPECT_EQ(DampingScale({.damping = Damping::kNone}, Parts{{160, 40}, {160, 2}}), 1);
  const StalenessConfig config{.damping = Damping::kInverse};
  EXPECT_EQ(DampingScale(config, Parts{{160, 0}}), 1);
  EXPECT_EQ(DampingScale(config, Parts{{160, 1}}), 1);
  EXPECT_EQ(DampingScale(config, Parts{{160, 4}}), 0.25);
  // 1/4 * 1/2 + 3/4 * 1/4 = 5/16.
  EXPECT_EQ(DampingScale(config, Parts{{100, 2}, {300, 4}}), 0.3125);
  // 1/2 * 1 + 1/2 * 1/8 = 9/16.
  EXPECT_EQ(DampingScale(config, Parts{{64, 0}, {64, 8}}), 0.5625);
  EXPECT_GT(DampingScale(config, Parts{{1, ~std::uint64_t{0}}}), 0);
}

}  // namespace
}  // namespace starling::learner
