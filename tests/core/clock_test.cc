#include "core/clock.h"

#include <gtest/gtest.h>

namespace starling {
namespace {

TEST(Clock, TheFakeOneMovesByHand) {
  FakeClock clock;
  EXPECT_EQ(clock.NowMs(), 0);
  clock.AdvanceMs(1500);
  EXPECT_EQ(clock.NowMs(), 1500);
  EXPECT_EQ(clock.NowNs(), 1'500'000'000);
}

TEST(Clock, TheSteadyOneNeverGoesBack) {
  const SteadyClock clock;
  const std::int64_t start = clock.NowNs();
  std::int64_t last = start;
  while (last < start + 1'000'000) {
    const std::int64_t now = clock.NowNs();
    ASSERT_GE(now, last);
    last = now;
  }
}

}  // namespace
}  // namespace starling
