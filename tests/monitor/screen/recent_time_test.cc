#include "monitor/screen/recent_time.h"

#include <gtest/gtest.h>

namespace starling::monitor {
namespace {

learner::TimeStatus Since(double seconds, double wait_share) {
  return {.actors = {.wait = wait_share * seconds, .act = (1 - wait_share) * seconds},
          .learner = {.idle = seconds}};
}

TEST(RecentTimeTest, NothingUntilASecondHasPassed) {
  RecentTime time;
  EXPECT_EQ(time.Last().actors.total(), 0);
  time.Add(0, 1, Since(5, 0));
  time.Add(500, 1, Since(5.5, 0));
  EXPECT_EQ(time.Last().actors.total(), 0);
}

TEST(RecentTimeTest, OfTheLastTenSeconds) {
  RecentTime time;
  learner::TimeStatus now;
  for (int second = 0; second <= 40; ++second) {  // it waits all the time since second 30
    time.Add(1000 * second, 1, now);
    now.learner.idle += 1;
    (second < 30 ? now.actors.act : now.actors.wait) += 1;
  }
  EXPECT_EQ(time.Last().actors.wait, 10);
  EXPECT_EQ(time.Last().actors.act, 0);
  EXPECT_EQ(time.Last().learner.idle, 10);
}

TEST(RecentTimeTest, ANewTermAndACountThatGoesBackBeginAnew) {
  RecentTime time;
  time.Add(0, 1, Since(5, 0));
  time.Add(1000, 1, Since(6, 0));
  EXPECT_EQ(time.Last().actors.total(), 1);
  time.Add(2000, 2, Since(9, 0));
  EXPECT_EQ(time.Last().actors.total(), 0);
  time.Add(3000, 2, Since(10, 0));
  EXPECT_EQ(time.Last().actors.total(), 1);
  time.Add(4000, 2, Since(1, 0));
  EXPECT_EQ(time.Last().actors.total(), 0);
}

}  // namespace
}  // namespace starling::monitor
