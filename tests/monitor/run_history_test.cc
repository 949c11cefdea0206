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

using testing::Optional;
using State = ActorRow::State;

const ActorProcess kWorks{.alive = true, .accepted = true};

learner::RunStatus At(std::uint64_t version, std::vector<learner::ActorStatus> joined) {
  learner::RunStatus status;
  status.phase = "running";
  status.term = 1;
  status.version = version;
  status.joined = std::move(joined);
  return status;
}

learner::ActorStatus Actor(int slot, std::uint64_t incarnation, std::uint64_t steps,
                           std::uint64_t version, std::uint64_t wait_ms = 0) {
  return {.slot = slot,
          .incarnation = incarnation,
          .accepted = steps / 160,
          .steps = steps,
          .version = version,
          .staleness = 2,
          .wait_us = 1000 * wait_ms};
}

TEST(ActorRowsTest, SpeedAndWaitingAreOfTheLastTenSeconds) {
  ActorRows actors(1);
  for (std::uint64_t second = 0; second <= 20; ++second) {
    // 1,600 steps a second, 16,000 from the tenth on; a quarter of the time it waits.
    const std::uint64_t steps = second <= 10 ? 1600 * second : 16'000 * (second - 9);
    actors.Add(static_cast<std::int64_t>(1000 * second),
               At(50, {Actor(0, 1, steps, 47, 250 * second)}));
  }
  const ActorRow row = actors.Rows({kWorks})[0];
  EXPECT_EQ(row.state, State::kAlive);
  EXPECT_THAT(row.version, Optional(47u));
  EXPECT_EQ(row.lag, 2u);
  EXPECT_THAT(row.steps_per_second, Optional(16'000.0));  // (176,000 - 16,000) / 10
  EXPECT_THAT(row.waiting, Optional(0.25));
}

TEST(ActorRowsTest, RowsChangeOnceASecondAndTogether) {
  ActorRows actors(2);
  const std::vector<ActorProcess> both{kWorks, kWorks};
  actors.Add(0, At(10, {Actor(0, 1, 160, 9)}));
  actors.Add(200, At(20, {Actor(0, 1, 320, 19)}));
  actors.Add(900, At(30, {Actor(0, 1, 480, 29), Actor(1, 1, 160, 28)}));
  EXPECT_THAT(actors.Rows(both)[0].version, Optional(9u));
  EXPECT_FALSE(actors.Rows(both)[0].steps_per_second.has_value());
  actors.Add(1000, At(40, {Actor(0, 1, 640, 39), Actor(1, 1, 320, 38)}));
  EXPECT_THAT(actors.Rows(both)[0].version, Optional(39u));
  EXPECT_THAT(actors.Rows(both)[0].steps_per_second, Optional(480.0));
  EXPECT_THAT(actors.Rows(both)[1].version, Optional(38u));
}

TEST(ActorRowsTest, ANewIncarnationCountsAnew) {
  ActorRows actors(1);
  actors.Add(0, At(10, {Actor(0, 1, 160'000, 9)}));
  actors.Add(1000, At(20, {Actor(0, 1, 320'000, 19)}));
  actors.Add(1100, At(20, {Actor(0, 2, 160, 20)}));
  EXPECT_THAT(actors.Rows({kWorks})[0].version, Optional(20u)) << "at once";
  EXPECT_FALSE(actors.Rows({kWorks})[0].steps_per_second.has_value());
  learner::RunStatus next_term = At(5, {Actor(0, 2, 160, 4)});
  next_term.term = 2;
  actors.Add(1200, next_term);
  EXPECT_THAT(actors.Rows({kWorks})[0].version, Optional(4u));
}

TEST(ActorRowsTest, StatesAreWhatProcessAndLearnerTell) {
  ActorRows actors(4);
  for (std::int64_t ms = 0; ms <= 5000; ms += 1000) {
    std::vector<learner::ActorStatus> joined = {Actor(0, 1, 160, 9)};
    if (ms < 2000) joined.push_back(Actor(1, 1, 160, 9));  // the learner has let it go since
    joined.push_back(Actor(7, 1, 160, 9));                 // started by hand: no slot of ours
    actors.Add(ms, At(10, joined));
  }
  const auto rows = actors.Rows({kWorks,
                                 kWorks,
                                 {.alive = true, .accepted = false, .restarts = 3},
                                 {.alive = false, .accepted = true}});
  EXPECT_EQ(rows[0].state, State::kAlive);
  EXPECT_EQ(rows[1].state, State::kSilent);
  EXPECT_EQ(rows[2].state, State::kStarting);
  EXPECT_EQ(rows[2].restarts, 3u);
  EXPECT_FALSE(rows[2].version.has_value());
  EXPECT_EQ(rows[3].state, State::kDead);
}

TEST(ActorRowsTest, NobodyIsSilentWhileTheLearnerIs) {
  ActorRows actors(1);
  actors.Add(0, At(10, {Actor(0, 1, 160, 9)}));  // and nothing since
  EXPECT_EQ(actors.Rows({kWorks})[0].state, State::kAlive);
}

TEST(ActorRowsTest, ALargeFleetIsToldOfInTurns) {
  constexpr int kActors = 1024, kAtOnce = 256;
  ActorRows actors(kActors);
  for (int line = 0; line <= 50; ++line) {  // ten seconds
    std::vector<learner::ActorStatus> joined;
    for (int i = 0; i < kAtOnce; ++i) {
      const int slot = (line * kAtOnce + i) % kActors;
      joined.push_back(Actor(slot, 1, static_cast<std::uint64_t>(1600 * line), 9));
    }
    actors.Add(200 * line, At(10, joined));
  }
  for (const ActorRow& row : actors.Rows(std::vector<ActorProcess>(kActors, kWorks))) {
    EXPECT_EQ(row.state, State::kAlive) << row.slot;
    EXPECT_THAT(row.steps_per_second, Optional(8000.0)) << row.slot;
  }
}

}  // namespace
}  // namespace starling::monitor
