#include "core/histogram.h"

#include <gtest/gtest.h>

namespace starling {
namespace {

using Counts = std::vector<std::uint64_t>;

TEST(Histogram, CountsEachValue) {
  Histogram histogram;
  EXPECT_EQ(histogram.total(), 0u);
  EXPECT_EQ(histogram.max(), 0u);
  EXPECT_EQ(histogram.mean(), 0.0);
  EXPECT_EQ(histogram.counts(), Counts{});
  histogram.Add(2);
  histogram.Add(0);
  histogram.Add(2, 3);
  EXPECT_EQ(histogram.counts(), (Counts{1, 0, 4}));
  EXPECT_EQ(histogram.total(), 5u);
  EXPECT_EQ(histogram.max(), 2u);
  EXPECT_DOUBLE_EQ(histogram.mean(), 8.0 / 5);
}

TEST(Histogram, AddingNothingChangesNothing) {
  Histogram histogram;
  histogram.Add(9, 0);
  EXPECT_EQ(histogram.counts(), Counts{});
  EXPECT_EQ(histogram.max(), 0u);
}

TEST(Histogram, LargeValuesShareTheLastBinButMaxAndMeanAreExact) {
  Histogram histogram;
  histogram.Add(Histogram::kLimit - 1);
  EXPECT_EQ(histogram.counts().size(), Histogram::kLimit);
  histogram.Add(Histogram::kLimit);
  histogram.Add(1'000'000'000'000);
  EXPECT_EQ(histogram.counts().size(), Histogram::kLimit + 1);
  EXPECT_EQ(histogram.counts()[Histogram::kLimit - 1], 1u);
  EXPECT_EQ(histogram.counts()[Histogram::kLimit], 2u);
  EXPECT_EQ(histogram.max(), 1'000'000'000'000u);
  EXPECT_DOUBLE_EQ(histogram.mean(), (4095.0 + 4096.0 + 1e12) / 3);
}

TEST(Histogram, GoesOnAfterRestore) {
  Histogram before;
  before.Add(1, 3);
  before.Add(10'000);
  Histogram after = Histogram(before.counts(), before.max(), before.mean());
  EXPECT_EQ(after.counts(), before.counts());
  EXPECT_EQ(after.total(), 4u);
  EXPECT_EQ(after.max(), 10'000u);
  EXPECT_DOUBLE_EQ(after.mean(), 10'003.0 / 4);
  after.Add(5);
  EXPECT_EQ(after.total(), 5u);
  EXPECT_DOUBLE_EQ(after.mean(), 10'008.0 / 5);
}

}  // namespace
}  // namespace starling
