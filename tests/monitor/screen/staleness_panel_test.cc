#include "monitor/screen/staleness_panel.h"

#include <gmock/gmock.h>

#include "core/config/config.h"

namespace starling::monitor {
namespace {

using testing::ElementsAre;

TEST(StalenessPanelTest, ABarForEachValueUpToTheBound) {
  const StalenessBars bars = ArrangeStaleness({50, 30, 20}, 4, 40);
  EXPECT_THAT(bars.bins.counts, ElementsAre(50, 30, 20, 0, 0));
  EXPECT_EQ(bars.bins.Share(1), 0.3);
  EXPECT_EQ(bars.bins.width, 1u);
  EXPECT_EQ(bars.columns, 6);
  EXPECT_EQ(bars.bound_column, 30);
  EXPECT_FALSE(bars.bins.open);
}

TEST(StalenessPanelTest, UnboundedShowsWhereAlmostAllIs) {
  std::vector<std::uint64_t> histogram(200, 0);
  histogram[0] = 600;
  histogram[5] = 398;
  histogram[199] = 2;
  const StalenessBars bars = ArrangeStaleness(histogram, kUnbounded, 41);
  EXPECT_THAT(bars.bins.counts, ElementsAre(600, 0, 0, 0, 0, 398, 0, 2));
  EXPECT_TRUE(bars.bins.open) << "the last holds what is more";
  EXPECT_EQ(bars.bound_column, -1);
}

TEST(StalenessPanelTest, AFarBoundIsNotShown) {
  EXPECT_EQ(ArrangeStaleness({50, 50}, 1000, 40).bound_column, -1);
  EXPECT_EQ(ArrangeStaleness({50, 50}, 1000, 40).bins.counts.size(), 6u) << "as many as have room";
}

TEST(StalenessPanelTest, ManyValuesShareABar) {
  const std::vector<std::uint64_t> histogram(4097, 1);
  for (int columns = 1; columns < 300; ++columns) {
    for (const std::uint64_t bound :
         {std::uint64_t{0}, std::uint64_t{3}, std::uint64_t{4096}, kUnbounded}) {
      const StalenessBars bars = ArrangeStaleness(histogram, bound, columns);
      EXPECT_GE(bars.columns, 1);
      EXPECT_LE(static_cast<int>(bars.bins.counts.size()) * bars.columns, std::max(1, columns - 1));
      EXPECT_EQ(bars.bins.total(), histogram.size());
    }
  }
}

}  // namespace
}  // namespace starling::monitor
