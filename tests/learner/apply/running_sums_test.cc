// Running sums: what updates add up, whatever they are made of.
#include "learner/apply/running_sums.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "net/running.h"
#include "tests/learner/apply/applier_fixture.h"

namespace starling::learner {
namespace {

using ::testing::ElementsAre;

constexpr std::size_t kTrained = 16 * 37, kSums = 16 * 3, kAll = kTrained + kSums;

using Sums = std::vector<float>;  // of two numbers

Sums Of(double count, double sum, double squares) {
  Sums sums(16);
  net::PutSum(count, &sums[8]);
  net::PutSum(sum, &sums[9]);
  net::PutSum(squares, &sums[10]);
  return sums;
}

TEST(RunningSums, TheMeanTimesTheSamplesIsAdded) {
  Sums sums = Of(10, 2, 3);
  AddToSums(8, Of(1, 0.5, 0.25), sums);
  EXPECT_THAT(sums, ElementsAre(0, 0, 0, 0, 0, 0, 0, 0, 18, 6, 5, 0, 0, 0, 0, 0));
}

// Above the window all three are scaled down: mean and variance stay what they are.
TEST(RunningSums, TheirMemoryEnds) {
  Sums sums = Of(kSumsWindow, 3 * kSumsWindow, 10 * kSumsWindow);
  AddToSums(1 << 22, Of(1, 3, 10), sums);
  EXPECT_FLOAT_EQ(sums[8], kSumsWindow);
  EXPECT_FLOAT_EQ(sums[9] / sums[8], 3);
  EXPECT_FLOAT_EQ(sums[10] / sums[8], 10);
  // Then newer numbers count more and more.
  for (int update = 0; update < 100; ++update) AddToSums(1 << 22, Of(1, 1, 2), sums);
  EXPECT_NEAR(sums[9] / sums[8], 1, 1e-3);
}

// Up to the window and far beyond it: no addend gets lost, however small beside the sums.
TEST(RunningSums, ManySmallUpdatesKeepTheirDigits) {
  for (const auto& [samples, mean] : {std::pair(160, 100.0), {5, 3.3}, {20, -10.0}}) {
    const Sums update = Of(1, mean, mean * mean + 1);
    const double begun = kSumsWindow - 50'000 * samples;
    Sums sums = Of(begun, begun * mean, begun * (mean * mean + 1));
    for (int i = 0; i < 400'000; ++i) AddToSums(static_cast<std::uint64_t>(samples), update, sums);
    const net::Spread spread = net::SpreadOf(&sums[8]);
    EXPECT_NEAR(spread.mean, mean, 1e-5 * std::abs(mean)) << samples;
    EXPECT_NEAR(spread.scale, 1, 1e-2) << samples;
    EXPECT_NEAR(net::SumAt(&sums[8]), kSumsWindow, 1) << samples;
  }
}

TEST(RunningSums, AreNeverInfinite) {
  Sums sums = Of(1, 0, 3e38);
  AddToSums(8, Of(1, 0, 3e38), sums);
  EXPECT_LT(sums[10], INFINITY);
  EXPECT_GT(net::SpreadOf(&sums[8]).scale, 0);
}

class SumsIn : public ::testing::TestWithParam<ApplyMode> {
 protected:
  // Applies 12 updates of a stream whose last floats are sums. `all`: those of all gradients count,
  // else those that Counts. `ahead`: the first gradient of each update is added before.
  static StateCopy Run(ApplyMode mode, int threads, bool all = true, bool ahead = false) {
    UpdateStream stream(kAll, 12);
    TestApplier applier(mode, stream, threads, nullptr, 0, kTrained);
    for (std::uint64_t v = 1; v <= 12; ++v) {
      Update& update = stream.at(v);
      update.samples = SamplesOf(update);
      for (std::size_t k = 0; k < update.gradients.size(); ++k) {
        update.gradients[k].sums = all || Counts(v, k);
      }
      if (ahead) AddFirst(applier, update);
      applier.SubmitWhenThereIsRoom(update);
    }
    applier.WaitFor(12);
    return applier->CaptureNow();
  }
  static void AddFirst(TestApplier& applier, Update& update) {
    Update part;
    part.version = update.version;
    part.gradients = {update.gradients.front()};
    update.gradients.erase(update.gradients.begin());
    update.weight_before = part.gradients[0].weight;
    applier->SumAhead(&part);
    for (int seen = applier.progress(); !part.Summed(); seen = applier.progress()) {
      applier.Wait(seen);
    }
  }
  // Whether gradient k of version v is the first of its unroll: all kinds of updates.
  static bool Counts(std::uint64_t v, std::size_t k) { return (v / 3 + k) % 2 == 0; }
  // What Run should leave in a sum.
  static double Expected(std::size_t number, std::size_t i, bool all) {
    UpdateStream stream(kAll, 12);
    double expected = SumIn(stream.initial(), number, i);
    for (std::uint64_t v = 1; v <= 12; ++v) {
      for (std::size_t k = 0; k < stream.at(v).gradients.size(); ++k) {
        const GradientRef& gradient = stream.at(v).gradients[k];
        if (all || Counts(v, k))
          expected += 160 * gradient.weight * SumIn(gradient.values, number, i);
      }
    }
    return expected;
  }
  static double SumIn(std::span<const float> values, std::size_t number, std::size_t i) {
    return net::SumAt(&values[kTrained + number * net::kSumsOfNumber + i]);
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
  for (std::size_t number = 0; number < kSums / net::kSumsOfNumber; ++number) {
    for (const std::size_t i : {0, 1, 2}) {
      EXPECT_NEAR(SumIn(found.weights, number, i), Expected(number, i, true), 1e-3);
    }
  }
  for (std::size_t i = 0; i < kAll; ++i) {
    if (i < kTrained) {
      ASSERT_EQ(found.weights[i], plain.weights[i]) << i;
    }
    for (std::size_t slot = 0; slot < plain.state.size(); ++slot) {
      ASSERT_EQ(found.state[slot][i], i < kTrained ? plain.state[slot][i] : 0.0f) << i;
    }
  }
}

// An unroll may have been counted already: the step is the same, with or without its sums.
TEST_P(SumsIn, CountOnlyWhereTheyAreSaidTo) {
  const StateCopy all = Run(GetParam(), 1), found = Run(GetParam(), 1, false);
  for (std::size_t number = 0; number < kSums / net::kSumsOfNumber; ++number) {
    for (const std::size_t i : {0, 1, 2}) {
      EXPECT_NEAR(SumIn(found.weights, number, i), Expected(number, i, false), 1e-3);
    }
  }
  EXPECT_TRUE(std::ranges::equal(std::span(found.weights).first(kTrained),
                                 std::span(all.weights).first(kTrained)));
  EXPECT_EQ(found.state, all.state);
}

INSTANTIATE_TEST_SUITE_P(Both, SumsIn, testing::Values(ApplyMode::kLanes, ApplyMode::kHogwild));

TEST_F(SumsIn, AreTheSameBitsInAnyNumberOfLanes) {
  const StateCopy expected = Run(ApplyMode::kLanes, 1);
  for (int threads = 2; threads <= 5; ++threads) {
    ExpectEqual(Run(ApplyMode::kLanes, threads), expected, std::to_string(threads) + " lanes");
  }
}

TEST_F(SumsIn, AreTheSameBitsInASumThatWasBegunAhead) {
  const StateCopy expected = Run(ApplyMode::kLanes, 1, false);
  ExpectEqual(Run(ApplyMode::kLanes, 2, false, true), expected, "the first gradients ahead");
}

}  // namespace
}  // namespace starling::learner
