#include <gmock/gmock.h>

#include <limits>

#include "monitor/chart.h"

namespace starling::monitor {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::Optional;

TEST(SeriesTest, MeansOfEqualSpans) {
  Series series(1, 8);
  series.Add(0.1, 2);
  series.Add(0.9, 4);
  series.Add(1.5, 10);
  EXPECT_THAT(series.Columns(4, 4), ElementsAre(3, 10, std::nullopt, std::nullopt));
  EXPECT_EQ(series.last(), 10);
}

TEST(SeriesTest, TwoAndTwoBecomeOneWhenItIsFull) {
  Series series(1, 4);
  for (int second = 0; second < 4; ++second) series.Add(second, second);
  EXPECT_EQ(series.size(), 4u);
  series.Add(4, 4);
  EXPECT_EQ(series.span_s(), 2);
  EXPECT_THAT(series.Columns(8, 4), ElementsAre(0.5, 2.5, 4, std::nullopt));
}

TEST(SeriesTest, AMeanWeighsByWhatIsInIt) {
  Series series(1, 2);
  for (const double value : {1.0, 1.0, 1.0}) series.Add(0, value);
  series.Add(1, 5);
  series.Add(2, 9);  // spans of two seconds: (1 + 1 + 1 + 5) / 4, 9
  EXPECT_THAT(series.Columns(4, 2), ElementsAre(2, 9));
}

TEST(SeriesTest, AWeekIsBoundedAndWhole) {
  Series series(0.5, 64);
  constexpr double kWeek = 7 * 86'400;
  for (double at = 0; at < kWeek; at += 60) series.Add(at, at);
  EXPECT_LE(series.size(), 64u);
  const auto columns = series.Columns(kWeek, 16);
  EXPECT_THAT(columns, Each(testing::Ne(std::nullopt)));
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const double middle = (static_cast<double>(i) + 0.5) * kWeek / 16;
    EXPECT_NEAR(*columns[i], middle, kWeek / 40) << i;
  }
}

TEST(SeriesTest, AGapIsBridgedAndTheEndsAreOpen) {
  Series series(1, 8);
  series.Add(1, 10);
  series.Add(4, 40);
  EXPECT_THAT(series.Columns(8, 8),
              ElementsAre(std::nullopt, Optional(10), Optional(20), Optional(30), Optional(40),
                          std::nullopt, std::nullopt, std::nullopt));
}

TEST(SeriesTest, FewValuesAreSpreadOverManyColumns) {
  Series series(1, 8);
  series.Add(0, 0);
  series.Add(1, 2);
  EXPECT_THAT(series.Columns(2, 8),
              ElementsAre(std::nullopt, std::nullopt, 0, 0.5, 1, 1.5, 2, std::nullopt));
}

TEST(SeriesTest, WhatIsNoNumberIsPassedOver) {
  Series series;
  series.Add(0, std::nan(""));
  series.Add(1, std::numeric_limits<double>::infinity());
  series.Add(std::numeric_limits<double>::infinity(), 1);
  series.Add(std::nan(""), 1);
  series.Add(-1, 1);
  EXPECT_TRUE(series.empty());
  EXPECT_THAT(series.Columns(10, 3), Each(std::nullopt));
  EXPECT_TRUE(series.Columns(10, 0).empty());
  EXPECT_TRUE(series.Columns(10, -1).empty());
}

TEST(SeriesTest, NiceSpans) {
  const std::pair<double, double> cases[] = {{0, 15},
                                             {15, 15},
                                             {15.1, 30},
                                             {61, 120},
                                             {3601, 7200},
                                             {86'401, 2 * 86'400},
                                             {5 * 86'400, 8 * 86'400}};
  for (const auto& [elapsed, span] : cases) {
    EXPECT_EQ(NiceSpan(elapsed), span) << elapsed;
  }
  EXPECT_GT(NiceSpan(1e300), 0);
}

TEST(AxisTest, TicksAtOneTwoOrFive) {
  EXPECT_THAT(MakeAxis(0, 10, 5, false).tick_text, ElementsAre("0", "2", "4", "6", "8", "10"));
  EXPECT_THAT(MakeAxis(0, 27, 5, false).tick_text, ElementsAre("0", "10", "20"));
  EXPECT_THAT(MakeAxis(-1, 1, 5, false).tick_text, ElementsAre("-1.0", "-0.5", "0", "0.5", "1.0"));
  EXPECT_THAT(MakeAxis(0.02, 0.05, 3, false).tick_text,
              ElementsAre("0.02", "0.03", "0.04", "0.05"));
}

TEST(AxisTest, AllTicksAreInOneUnit) {
  EXPECT_THAT(MakeAxis(0, 1e6, 5, false).tick_text,
              ElementsAre("0", "0.2M", "0.4M", "0.6M", "0.8M", "1.0M"));
  EXPECT_THAT(MakeAxis(0, 5e6, 6, false).tick_text, ElementsAre("0", "1M", "2M", "3M", "4M", "5M"));
  EXPECT_THAT(MakeAxis(0, 150'000, 3, false).tick_text, ElementsAre("0", "50k", "100k", "150k"));
  EXPECT_THAT(MakeAxis(0, 9000, 3, false).tick_text, ElementsAre("0", "5000"));
}

TEST(AxisTest, EqualEndsAreMovedApart) {
  for (const double value : {0.0, 1.0, -5.0, 1e6}) {
    const Axis axis = MakeAxis(value, value, 5, true);
    EXPECT_LT(axis.low, value);
    EXPECT_GT(axis.high, value);
    EXPECT_GE(axis.ticks.size(), 2u) << value;
  }
}

}  // namespace
}  // namespace starling::monitor
