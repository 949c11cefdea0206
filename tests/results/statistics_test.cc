#include "results/statistics.h"

#include <gtest/gtest.h>

namespace starling::results {
namespace {

TEST(StatisticsTest, MeanAndMedian) {
  EXPECT_EQ(Mean(std::vector<double>{1, 2, 6}), 3.0);  // 9 / 3
  EXPECT_EQ(Median({6, 1, 2}), 2.0);
  EXPECT_EQ(Median({6, 1, 2, 4}), 3.0);  // (2 + 4) / 2
  EXPECT_EQ(Median({5}), 5.0);
}

TEST(StatisticsTest, InterquartileMeanLeavesAQuarterOutAtEitherEnd) {
  EXPECT_EQ(InterquartileMean({7}), 7.0);
  EXPECT_EQ(InterquartileMean({1, 2, 9}), 4.0);               // 3 / 4 = 0 left out: (1 + 2 + 9) / 3
  EXPECT_EQ(InterquartileMean({100, 2, 4, -50}), 3.0);        // 1 at either end: (2 + 4) / 2
  EXPECT_EQ(InterquartileMean({9, 1, 2, 3, 100}), 14.0 / 3);  // 5 / 4 = 1: (2 + 3 + 9) / 3
  EXPECT_EQ(InterquartileMean({8, 7, 6, 5, 4, 3, 2, 1}), 4.5);  // 2: (3 + 4 + 5 + 6) / 4
}

TEST(StatisticsTest, QuantilesAreLinearBetweenNeighbours) {
  const std::vector<double> values = {40, 10, 20, 30, 50};
  EXPECT_EQ(Quantile(values, 0), 10.0);
  EXPECT_EQ(Quantile(values, 1), 50.0);
  EXPECT_EQ(Quantile(values, 0.5), 30.0);
  EXPECT_DOUBLE_EQ(Quantile(values, 0.125), 15.0);  // rank 0.125 x 4 = 0.5, between 10 and 20
  EXPECT_DOUBLE_EQ(Quantile(values, 0.8), 42.0);    // rank 3.2: 40 + 0.2 x 10
}

// Two runs: a draw is (a, a), (a, b), (b, a) or (b, b), each with 1/4, so 2.5 % of the draws end
// within those whose mean is a, and 97.5 % within those whose mean is b.
TEST(BootstrapTest, TwoRuns) {
  const Bootstrap bootstrap(2, 10'000, 0);
  EXPECT_EQ(bootstrap.OfInterquartileMean(std::vector<double>{0, 1}), (Interval{0, 1}));
  EXPECT_EQ(bootstrap.OfInterquartileMean(std::vector<double>{7, 3}), (Interval{3, 7}));
}

TEST(BootstrapTest, OneRunOrEqualRunsLeaveNoDoubt) {
  EXPECT_EQ(Bootstrap(1, 100, 0).OfInterquartileMean(std::vector<double>{5}), (Interval{5, 5}));
  EXPECT_EQ(Bootstrap(3, 100, 0).OfInterquartileMean(std::vector<double>{5, 5, 5}),
            (Interval{5, 5}));
}

// Four runs with 1, 2, 3, 4: of the 256 equally likely draws, sorted, the mean of the two in the
// middle counts. It is 1 in 13 of them (four 1: 1 draw; three 1 and another: 3 x 4 draws), 5.1 %,
// and as often 4: so the interval is all of [1, 4].
// With 0, 0, 0, 1 it is 0 unless 1 was drawn at least twice, and 1 if it was three times or more:
// 4 x 3 + 1 = 13 of 256, 5.1 %: [0, 1]. With 0, 0, 0, 0, 1 the middle three of five count, and all
// of them are 1 if 1 was drawn four times or more: (5 x 4 + 1) / 3125, 0.7 %; two of them if three
// times: 10 x 16 / 3125, 5.1 %: [0, 2/3].
TEST(BootstrapTest, AgainstAllDrawsCountedByHand) {
  const Bootstrap four(4, 10'000, 0);
  EXPECT_EQ(four.OfInterquartileMean(std::vector<double>{1, 2, 3, 4}), (Interval{1, 4}));
  EXPECT_EQ(four.OfInterquartileMean(std::vector<double>{0, 0, 0, 1}), (Interval{0, 1}));
  const Bootstrap five(5, 10'000, 0);
  EXPECT_EQ(five.OfInterquartileMean(std::vector<double>{0, 0, 0, 0, 1}), (Interval{0, 2.0 / 3}));
}

// The interval over all 8^8 draws that could be counted, estimated twice with different draws. An
// end lies where one draw in 40 is beyond: with 10 000 draws that is 250 of them, give or take 16
// (6 %). The means that far out are a few tenths apart, so two estimates may be, too.
TEST(BootstrapTest, GroupsAreDrawnApartAndReproducibly) {
  const std::vector<double> values = {3.1, 4.1, 5.9, 2.6, 5.3, 5.8, 9.7, 9.3};
  const Interval first = Bootstrap(8, 10'000, 0).OfInterquartileMean(values);
  EXPECT_EQ(Bootstrap(8, 10'000, 0).OfInterquartileMean(values), first);
  const Interval second = Bootstrap(8, 10'000, 1).OfInterquartileMean(values);
  EXPECT_NE(second, first);
  EXPECT_NEAR(second.low, first.low, 0.4);
  EXPECT_NEAR(second.high, first.high, 0.4);
  EXPECT_LT(first.low, InterquartileMean(values));
  EXPECT_GT(first.high, InterquartileMean(values));
}

TEST(DecimalsTest, SmallNumbersAreNotNothing) {
  EXPECT_EQ(Decimals(12.345), "12.35");
  EXPECT_EQ(Decimals(-0.5), "-0.50");
  EXPECT_EQ(Decimals(0), "0.00");
  EXPECT_EQ(Decimals(-0.00123), "-0.0012");
  EXPECT_EQ(Decimals(1.5e-6), "1.5e-06");
}

TEST(IsPlausibleTest, WhatCanBeANumberOfARun) {
  EXPECT_TRUE(IsPlausible(-21) && IsPlausible(1e12));
  EXPECT_FALSE(IsPlausible(1e300) || IsPlausible(-1e16) || IsPlausible(std::nan("")));
}

}  // namespace
}  // namespace starling::results
