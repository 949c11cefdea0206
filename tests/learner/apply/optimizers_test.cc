// The arithmetic of each optimizer, written out.
#include <gtest/gtest.h>

#include <cmath>

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

OptimizerConfig Plain(double decay, double epsilon) {
  return {.decay = decay, .epsilon = epsilon, .bias_correction = false};
}
OptimizerConfig Corrected(double decay, double epsilon) {
  return {.decay = decay, .epsilon = epsilon, .bias_correction = true};
}
OptimizerConfig Inside(OptimizerConfig config) {
  config.epsilon_place = EpsilonPlace::kInside;
  return config;
}
OptimizerConfig Centered(OptimizerConfig config) {
  config.centered = true;
  return config;
}

TEST(RmsProp, EpsilonOutsideTheRoot) {
  OneWeight one(Plain(0.75, 1));
  // s = 0.25 * 4 = 1; w = 1 - 0.5 * 2 / (sqrt(1) + 1) = 0.5
  EXPECT_EQ(one.Step(2, 0.5), 0.5f);
  EXPECT_EQ(one.state(0), 1);
  // s = 0.75 * 1 + 0.25 * 13 = 4, up to the rounding of sqrt(13)^2; w = 0.5 - 0.5 * sqrt(13) / 3
  const float g = std::sqrt(13.0f);
  EXPECT_FLOAT_EQ(one.Step(g, 0.5), 0.5f - 0.5f * g / 3);
  EXPECT_FLOAT_EQ(one.state(0), 4);
}

TEST(RmsProp, EpsilonInsideTheRoot) {
  OneWeight one(Inside(Plain(0.75, 1)));
  // s = 0.25 * 12 = 3; w = 1 - 0.5 * sqrt(12) / sqrt(3 + 1)
  const float g = std::sqrt(12.0f);
  EXPECT_FLOAT_EQ(one.Step(g, 0.5), 1 - 0.25f * g);
}

TEST(RmsProp, BiasCorrectionDividesByOneMinusDecayToTheStep) {
  OneWeight one(Corrected(0.75, 2));
  // s = 1, 1 - d = 0.25, s' = 4; w = 1 - 0.5 * 2 / (2 + 2) = 0.75
  EXPECT_FLOAT_EQ(one.Step(2, 0.5), 0.75f);
  // A constant gradient gives the same corrected average every time, so the same step again.
  EXPECT_FLOAT_EQ(one.Step(2, 0.5), 0.5f);
  EXPECT_FLOAT_EQ(one.Step(2, 0.5), 0.25f);
  EXPECT_FLOAT_EQ(one.state(0), 4 * (1 - 0.75f * 0.75f * 0.75f));
}

TEST(RmsProp, TheCorrectionApproachesOneAndIsExactForADecayCloseToOne) {
  const auto correction = [](const OptimizerConfig& config, std::uint64_t step) {
    return MakeStepSize(MakeOptimizerSpec(config), 1, 1, step).correction;
  };
  EXPECT_FLOAT_EQ(correction(Corrected(0.99, 1e-5), 1), 100);
  EXPECT_EQ(correction(Corrected(0.99, 1e-5), 10'000'000), 1);
  EXPECT_NEAR(correction(Corrected(1 - 1e-12, 1e-5), 1000), 1e9, 1e5);
  EXPECT_EQ(correction(Corrected(0, 1e-5), 1), 1);
  EXPECT_EQ(correction(Plain(0.99, 1e-5), 1), 1);
}

TEST(RmsPropCentered, DividesByTheDeviationFromTheMean) {
  OneWeight one(Centered(Plain(0.5, 1)));
  // s = 0.5 * 4 = 2, a = 0.5 * 2 = 1, variance 2 - 1 = 1; w = 1 - 0.5 * 2 / (1 + 1)
  EXPECT_EQ(one.Step(2, 0.5), 0.5f);
  EXPECT_EQ(one.state(0), 2);
  EXPECT_EQ(one.state(1), 1);
  // s = 1 + 0.5 * 36 = 19, a = 0.5 - 3 = -2.5, variance 19 - 6.25 = 12.75; w = 0.5 + 0.5 * 6 / ...
  EXPECT_FLOAT_EQ(one.Step(-6, 0.5), 0.5f + 3 / (std::sqrt(12.75f) + 1));
  EXPECT_EQ(one.state(1), -2.5f);
}

TEST(RmsPropCentered, TheVarianceIsCorrectedAsAWhole) {
  OneWeight one(Centered(Corrected(0.75, 1)));
  // s = 1, a = 0.5, variance 0.75, corrected 0.75 / 0.25 = 3; w = 1 - 0.5 * 2 / (sqrt(3) + 1)
  EXPECT_FLOAT_EQ(one.Step(2, 0.5), 1 - 1 / (std::sqrt(3.0f) + 1));
}

// If each average were corrected by itself, the variance of the first gradient would be 0 and the
// step g / epsilon.
TEST(RmsPropCentered, TheFirstStepEqualsThatOfTheOtherVariants) {
  for (const float g : {1e-4f, 1.0f, 100.0f}) {
    OneWeight one(Centered(Corrected(0.99, 1e-12)));
    EXPECT_FLOAT_EQ(one.Step(g, 0.01), 1 - 0.01f / std::sqrt(0.99f)) << g;
  }
}

TEST(RmsPropCentered, StaysFiniteWhereTheVarianceRoundsBelowZero) {
  // The gradient of each weight changes once and then stays. In the end the variance consists of
  // rounding errors only, and for some weights the mean square ends below the squared mean.
  const std::vector<float> last = RandomVector(1024, 1);
  std::vector<float> first = last;
  for (float& g : first) g *= 4;
  for (const OptimizerConfig& config :
       {Centered(Plain(0.99, 1e-5)), Inside(Centered(Corrected(0.99, 1e-5)))}) {
    const OptimizerSpec spec = MakeOptimizerSpec(config);
    Model model(spec, RandomVector(1024, 0));
    for (std::uint64_t t = 1; t <= 3000; ++t) {
      model.Apply(spec, MakeStepSize(spec, 1e-6, 1, t), t <= 500 ? first : last);
    }
    int below = 0;
    for (std::size_t i = 0; i < 1024; ++i) {
      EXPECT_TRUE(std::isfinite(model.weights[i])) << i;
      below += double{model.state[0][i]} < double{model.state[1][i]} * model.state[1][i];
    }
    EXPECT_GT(below, 0) << "no variance rounds below zero: the test checks nothing";
  }
}

TEST(RmsProp, MomentumKeepsAPartOfTheLastNormalisedStep) {
  OptimizerConfig config = Plain(0.75, 1);
  config.momentum = 0.5;
  OneWeight one(config);
  // s = 1, v = 2 / (1 + 1) = 1; w = 1 - 0.5
  EXPECT_EQ(one.Step(2, 0.5), 0.5f);
  // No gradient: v = 0.5; w = 0.5 - 0.5 * 0.5
  EXPECT_EQ(one.Step(0, 0.5), 0.25f);
  EXPECT_EQ(one.state(0), 0.75f);
  EXPECT_EQ(one.state(1), 0.5f);
}

// The formulas of optimizers/rmsprop.cc in double precision, for longer than a golden trajectory.
TEST(RmsProp, FollowsDoublePrecisionOverAThousandSteps) {
  for (const OptimizerConfig& config :
       {Plain(0.99, 1e-5), Corrected(0.99, 1e-5), Inside(Corrected(0.99, 1e-5)), Plain(0.9, 0.1),
        Inside(Plain(0.9, 0.1))}) {
    const OptimizerSpec spec = MakeOptimizerSpec(config);
    const std::vector<float> start = RandomVector(64, 0);
    Model model(spec, start);
    std::vector<double> weights(start.begin(), start.end()), square_avg(64);
    for (std::uint64_t t = 1; t <= 1000; ++t) {
      const auto gradient = RandomVector(64, static_cast<std::uint32_t>(t), 0.01f);
      const double lr = 3e-3 * (1 - static_cast<double>(t) / 1001);
      model.Apply(spec, MakeStepSize(spec, lr, 1, t), gradient);
      for (std::size_t i = 0; i < 64; ++i) {
        const double g = gradient[i];
        square_avg[i] = spec.decay * square_avg[i] + (1 - spec.decay) * g * g;
        double s = square_avg[i];
        if (spec.bias_correction) s /= 1 - std::pow(spec.decay, static_cast<double>(t));
        const double root =
            spec.epsilon_inside ? std::sqrt(s + spec.epsilon) : std::sqrt(s) + spec.epsilon;
        weights[i] -= lr * g / root;
      }
    }
    // A thousand roundings of half a unit in the last place of a weight of about 1, at random.
    for (std::size_t i = 0; i < 64; ++i) {
      EXPECT_NEAR(model.weights[i], weights[i], 1e-5) << spec.epsilon;
    }
  }
}

}  // namespace
}  // namespace starling::learner
