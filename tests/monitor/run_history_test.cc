#include "monitor/run_history.h"

#include <gmock/gmock.h>

namespace starling::monitor {
namespace {

using testing::StartsWith;

// A running learner after `seconds`, whose actors wait for `wait_share` of them.
learner::RunStatus After(double seconds, double wait_share, std::uint64_t term = 1) {
  learner::RunStatus status;
  status.phase = "running";
  status.term = term;
  status.time = {.actors = {.wait = wait_share * seconds, .act = (1 - wait_share) * seconds},
                 .learner = {.idle = seconds}};
  return status;
}

class RunHistoryTest : public testing::Test {
 protected:
  std::string Bottleneck() { return history_.View(0, {}, false).bottleneck; }
  RunHistory history_{{}, /*actors=*/0, /*now_ms=*/0};
};

TEST_F(RunHistoryTest, NoBottleneckUntilASecondHasPassed) {
  EXPECT_EQ(Bottleneck(), "");
  history_.Add(0, After(5, 0));
  history_.Add(500, After(5.5, 0));
  EXPECT_EQ(Bottleneck(), "");
}

TEST_F(RunHistoryTest, TheBottleneckIsThatOfTheLastTenSeconds) {
  learner::RunStatus status = After(0, 0);
  for (int second = 0; second <= 40; ++second) {  // the actors wait from second 30 on
    history_.Add(1000 * second, status);
    status.time.learner.idle += 1;
    (second < 30 ? status.time.actors.act : status.time.actors.wait) += 1;
  }
  EXPECT_THAT(Bottleneck(), StartsWith("waiting: actors wait 100 % of the time"));
}

TEST_F(RunHistoryTest, ANewTermAndTimesThatGoBackStartAgain) {
  history_.Add(0, After(5, 0));
  history_.Add(1000, After(6, 0));
  EXPECT_NE(Bottleneck(), "");
  history_.Add(2000, After(9, 0, /*term=*/2));
  EXPECT_EQ(Bottleneck(), "");
  history_.Add(3000, After(10, 0, 2));
  EXPECT_NE(Bottleneck(), "");
  history_.Add(4000, After(1, 0, 2));
  EXPECT_EQ(Bottleneck(), "");
}

}  // namespace
}  // namespace starling::monitor
