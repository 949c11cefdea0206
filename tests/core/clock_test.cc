#include "core/clock.h"

#include <gtest/gtest.h>

namespace starling {
namespace {

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

constexpr std::int64_t kMaxTickMs = RunningClock::kMaxTickNs / 1'000'000;

TEST(RunningClockTest, CountsWhileItsProcessRuns) {
  FakeClock clock;
  clock.AdvanceMs(5000);  // the origin of the other clock means nothing
  RunningClock running(clock);
  EXPECT_EQ(running.NowMs(), 0);
  for (int i = 0; i < 10; ++i) {
    clock.AdvanceMs(50);
    EXPECT_EQ(running.NowMs(), 50 * (i + 1)) << "also between ticks";
    running.Tick();
    EXPECT_EQ(running.NowMs(), 50 * (i + 1));
  }
}

TEST(RunningClockTest, APauseCountsAsOneTick) {
  FakeClock clock;
  RunningClock running(clock);
  clock.AdvanceMs(60'000);
  EXPECT_EQ(running.NowMs(), kMaxTickMs);
  running.Tick();
  EXPECT_EQ(running.NowMs(), kMaxTickMs);
  clock.AdvanceMs(10);
  EXPECT_EQ(running.NowMs(), kMaxTickMs + 10);
}

}  // namespace
}  // namespace starling
