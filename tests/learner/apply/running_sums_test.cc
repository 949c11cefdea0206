// Running sums: what updates add up, whatever they are made of.
#include "learner/apply/running_sums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/learner/apply/applier_fixture.h"

namespace starling::learner {
namespace {

using ::testing::ElementsAre;

constexpr std::size_t kTrained = 16 * 37, kSums = 16 * 3, kAll = kTrained + kSums;

TEST(RunningSums, TheMeanTimesTheSamplesIsAdded) {
  std::vector<float> sums(16);
  sums[4] = 10, sums[5] = 2, sums[6] = 3;
  std::vector<float> mean(16);
  mean[4] = 1, mean[5] = 0.5f, mean[6] = 0.25f;
  AddToSums(8, mean, sums);
  EXPECT_THAT(std::vector(&sums[4], &sums[8]), ElementsAre(18, 6, 5, 0));
  EXPECT_THAT(std::vector(&sums[0], &sums[4]), ElementsAre(0, 0, 0, 0));
}

// Above the window all three are scaled down: mean and variance stay what they are.
TEST(RunningSums, TheirMemoryEnds) {
  std::vector<float> sums(16), mean(16);
  sums[0] = kSumsWindow, sums[1] = 3 * kSumsWindow, sums[2] = 10 * kSumsWindow;
  mean[0] = 1, mean[1] = 3, mean[2] = 10;
  AddToSums(1 << 22, mean, sums);
  EXPECT_FLOAT_EQ(sums[0], kSumsWindow);
  EXPECT_FLOAT_EQ(sums[1] / sums[0], 3);
  EXPECT_FLOAT_EQ(sums[2] / sums[0], 10);
  // Then newer numbers count more and more.
  mean[1] = 1, mean[2] = 2;
  for (int update = 0; update < 100; ++update) AddToSums(1 << 22, mean, sums);
  EXPECT_NEAR(sums[1] / sums[0], 1, 1e-3);
}

class SumsIn : public ::testing::TestWithParam<ApplyMode> {
 protected:
  // Applies 12 updates of `stream` with sums behind what is trained.
  static StateCopy Run(ApplyMode mode, int threads) {
    UpdateStream stream(kAll, 12);
    for (std::uint64_t v = 1; v <= 12; ++v) stream.at(v).samples = SamplesOf(stream.at(v));
    TestApplier applier(mode, stream, threads, nullptr, 0, kTrained);
    applier.Run(stream, 1, 12);
    return applier->CaptureNow();
  }
  // A gradient of weight 1 has 160.
  static std::uint64_t SamplesOf(const Update& update) {
    double samples = 0;
    for (const GradientRef& gradient : update.gradients) samples += 160 * double{gradient.weight};
    return static_cast<std::uint64_t>(samples);
  }
};

// The optimizer does the same to what it trains as without sums, and nothing to the sums.
TEST_P(SumsIn, StandBehindWhatIsTrained) {
  UpdateStream stream(kAll, 12);
  const StateCopy plain = stream.Reference().back();
  const StateCopy found = Run(GetParam(), 1);
  std::vector<float> sums(stream.initial().begin() + kTrained, stream.initial().end());
  for (std::uint64_t v = 1; v <= 12; ++v) {
    for (const GradientRef& gradient : stream.at(v).gradients) {
      for (std::size_t i = 0; i < kSums; ++i) {
        sums[i] += 160 * gradient.weight * gradient.values[kTrained + i];
      }
    }
  }
  for (std::size_t i = 0; i < kAll; ++i) {
    if (i < kTrained) {
      ASSERT_EQ(found.weights[i], plain.weights[i]) << i;
    } else {
      ASSERT_NEAR(found.weights[i], sums[i - kTrained], 1e-3) << i;
    }
    for (std::size_t slot = 0; slot < plain.state.size(); ++slot) {
      ASSERT_EQ(found.state[slot][i], i < kTrained ? plain.state[slot][i] : 0.0f) << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Both, SumsIn, testing::Values(ApplyMode::kLanes, ApplyMode::kHogwild));

TEST_F(SumsIn, AreTheSameBitsInAnyNumberOfLanes) {
  const StateCopy expected = Run(ApplyMode::kLanes, 1);
  for (int threads = 2; threads <= 5; ++threads) {
    ExpectEqual(Run(ApplyMode::kLanes, threads), expected, std::to_string(threads) + " lanes");
  }
}

}  // namespace
}  // namespace starling::learner
