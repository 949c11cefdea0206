#include "monitor/axis.h"

#include <gmock/gmock.h>

namespace starling::monitor {
namespace {

using testing::ElementsAre;

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
