#include "learner/apply/schedule.h"

#include <gmock/gmock.h>

#include <vector>

namespace starling::learner {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(LearningRate, FollowsItsScheduleAndWarmUp) {
  constexpr std::uint64_t kEnd = ~std::uint64_t{0};
  const OptimizerConfig linear{.lr = 0.004, .lr_schedule = LrSchedule::kLinear},
      constant{.lr = 0.004, .lr_schedule = LrSchedule::kConstant};
  OptimizerConfig warm = constant, warm_linear = linear;
  warm.warmup_steps = warm_linear.warmup_steps = 400;
  const struct {
    OptimizerConfig config;
    std::uint64_t run, steps, samples;  // of the run, before the update, of the update
    double rate;
  } cases[] = {
      // On a line to zero at the end of the run, and never below.
      {linear, 1000, 0, 10, 0.004},
      {linear, 1000, 250, 10, 0.003},
      {linear, 1000, 999, 10, 0.000004},
      {linear, 1000, 1000, 10, 0},
      {linear, 1000, 1001, 10, 0},
      {linear, 1000, kEnd, 10, 0},
      {linear, 0, 0, 10, 0},
      {constant, 1000, 0, 10, 0.004},
      {constant, 1000, 5000, 10, 0.004},
      // The warm-up counts the samples of the update: 100 / 400, not 0; it never exceeds lr.
      {warm, 1000, 0, 100, 0.001},
      {warm, 1000, 100, 100, 0.002},
      {warm, 1000, 200, 50, 0.0025},
      {warm, 1000, 300, 100, 0.004},
      {warm, 1000, 399, 100, 0.004},
      {warm, 1000, 400, 100, 0.004},
      // It multiplies the schedule: (100 + 100) / 400 * (1 - 100 / 1000) = 0.45.
      {warm_linear, 1000, 100, 100, 0.0018},
      {warm_linear, 1000, 500, 100, 0.002},
      {warm_linear, 1000, 1000, 100, 0},
  };
  for (const auto& [config, run, steps, samples, rate] : cases) {
    EXPECT_DOUBLE_EQ(LearningRate(config, run, steps, samples), rate)
        << config.warmup_steps << ": " << steps << " of " << run;
  }
}

TEST(EntropyCoef, GoesFromOneValueToTheOtherAndStays) {
  const LossConfig falls{.entropy = 0.05, .entropy_end = 0.01},
      rises{.entropy = 0.01, .entropy_end = 0.03}, stays{.entropy = 0.01, .entropy_end = 0.01};
  // By the same factor in every step: to a sixteenth in four halvings.
  LossConfig halves{.entropy = 0.08, .entropy_end = 0.005}, constant{.entropy = 0.05};
  halves.entropy_schedule = EntropySchedule::kExponential;
  constant.entropy_schedule = EntropySchedule::kConstant;
  constant.entropy_end = 0;  // ignored
  const struct {
    LossConfig config;
    std::uint64_t steps;  // of 1000
    double coefficient;
  } cases[] = {{falls, 0, 0.05},      {falls, 500, 0.03},    {falls, 1000, 0.01},
               {falls, 9000, 0.01},   {rises, 500, 0.02},    {stays, 333, 0.01},
               {halves, 0, 0.08},     {halves, 250, 0.04},   {halves, 500, 0.02},
               {halves, 1000, 0.005}, {halves, 9000, 0.005}, {constant, 0, 0.05},
               {constant, 500, 0.05}, {constant, 9000, 0.05}};
  for (const auto& [config, steps, coefficient] : cases) {
    EXPECT_DOUBLE_EQ(EntropyCoef(config, 1000, steps), coefficient)
        << config.entropy << " at " << steps;
  }
}

TEST(LrScale, FollowsTheSamplesOfTheUpdate) {
  OptimizerConfig config{.lr_samples = 160};
  EXPECT_EQ(LrScale(config, 480), 1);
  config.scale_lr = LrScaling::kLinear;
  EXPECT_EQ(LrScale(config, 160), 1);
  EXPECT_EQ(LrScale(config, 480), 3);  // three actors' gradients in one update
  EXPECT_EQ(LrScale(config, 80), 0.5);
  config.scale_lr = LrScaling::kSqrt;
  EXPECT_EQ(LrScale(config, 160), 1);
  EXPECT_EQ(LrScale(config, 640), 2);
  EXPECT_EQ(LrScale(config, 40), 0.5);
}

// 8 actors of 32 envs x 5 steps, and a rate that was tuned with 160 samples.
TEST(WhyToWarmUp, SpeaksOfLongFirstSteps) {
  const auto why = [](const std::vector<std::string>& more) {
    std::vector<std::string> all = {"actors.count=8", "run.steps=1000000",
                                    "optimizer.scale_lr=linear"};
    all.insert(all.end(), more.begin(), more.end());
    return WhyToWarmUp(ParseConfig("", "x.toml", all));
  };
  EXPECT_THAT(why({"updates.gradients=4"}),
              AllOf(HasSubstr("4 times as long"), HasSubstr("optimizer.warmup_steps, to 100000")));
  EXPECT_THAT(why({"staleness.bound=0"}), HasSubstr("8 times as long"));
  EXPECT_THAT(why({"optimizer.lr_samples=40"}), HasSubstr("4 times as long"));
  EXPECT_EQ(why({"updates.gradients=2"}), "");
  EXPECT_EQ(why({"updates.gradients=4", "optimizer.warmup_steps=1"}), "");
  EXPECT_EQ(why({"updates.gradients=4", "optimizer.scale_lr=sqrt"}), "");
  EXPECT_EQ(why({"updates.gradients=4", "optimizer.lr_samples=640"}), "");
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
  const StalenessConfig root = {.damping = Damping::kSqrt};
  EXPECT_EQ(DampingScale(root, Parts{{160, 0}}), 1);
  EXPECT_EQ(DampingScale(root, Parts{{160, 4}}), 0.5);
  // (100 / 2 + 300 / 4) / 400
  EXPECT_EQ(DampingScale(root, Parts{{100, 4}, {300, 16}}), 0.3125);
}

}  // namespace
}  // namespace starling::learner
