// Small fleets whose every moment can be worked out by hand.
#include "tools/simulate/simulator.h"

#include <gmock/gmock.h>

#include "tests/tools/simulate/small_fleet.h"

namespace starling::simulate {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Both deliver at 10; the lane applies one until 11, one until 12. Each goes on when its own is
// published, so from then on they take turns: 10 ms of computing, 1 ms of the lane.
TEST(Simulator, TwoFreeActorsHaveANaturalStalenessOfOne) {
  const SmallFleet fleet(8, {"updates.in_flight=1"});
  EXPECT_THAT(fleet.published_ms, ElementsAre(11, 12, 22, 23, 33, 34, 44, 45));
  EXPECT_THAT(fleet.staleness(), ElementsAre(1, 7));
  EXPECT_DOUBLE_EQ(fleet.counters().seconds, 0.045);
  EXPECT_DOUBLE_EQ(fleet.time.learner.lanes, 0.008);
}

TEST(Simulator, FreeActorsHaveANaturalStalenessOfNMinusOne) {
  const SmallFleet fleet(64, {"actors.count=8", "updates.in_flight=1"});
  EXPECT_THAT(fleet.staleness(), ElementsAre(1, 1, 1, 1, 1, 1, 1, 57));
}

// Slot 0 takes 30 ms; an update of two takes 1.5 ms.
TEST(Simulator, BoundZeroIsLockStepWithTheSlowest) {
  const SmallFleet fleet(8, {"staleness.bound=0", "simulate.stragglers=1",
                             "simulate.straggler_factor=3", "simulate.merge_ms=0.5"});
  EXPECT_THAT(fleet.published_ms, ElementsAre(31.5, 63, 94.5, 126));
  EXPECT_THAT(fleet.staleness(), ElementsAre(8));
  EXPECT_EQ(fleet.counters().merged, 8u);
  // The quick one waits 31.5 - 10 for its 2nd, 3rd and 4th grant, the slow one 1.5.
  EXPECT_NEAR(fleet.time.actors.wait, 3 * (0.0215 + 0.0015), 1e-12);
}

// Without the bound the slow one delivers at 30, the quick one at 10, 21, 32, 43, ...: at 30 the
// weights that the slow one began with are two versions old.
TEST(Simulator, WithoutABoundNobodyWaitsForAStraggler) {
  const SmallFleet fleet(
      5, {"updates.in_flight=1", "simulate.stragglers=1", "simulate.straggler_factor=3"});
  EXPECT_THAT(fleet.published_ms, ElementsAre(11, 22, 31, 33, 44));
  EXPECT_THAT(fleet.staleness(), ElementsAre(3, 1, 1));
}

// The quick one's second gradient (at 21) has to wait for the slow one's first (at 30): another
// update before it would make that one 2 versions old. Then both are applied, and so on every 31
// ms.
TEST(Simulator, ABoundOfOneLetsTheQuickBeOneAhead) {
  const SmallFleet fleet(
      7, {"staleness.bound=1", "simulate.stragglers=1", "simulate.straggler_factor=3"});
  EXPECT_THAT(fleet.published_ms, ElementsAre(11, 31, 32, 62, 63, 93, 94));
  EXPECT_THAT(fleet.staleness(), ElementsAre(1, 6));
}

// The quick one delivers every 11 ms. When the slow one delivers, at 30 and at 60, its weights are
// too old; it is refused and starts again at once.
TEST(Simulator, WhatIsTooOldIsDroppedAndNobodyWaits) {
  const SmallFleet fleet(6, {"staleness.bound=0", "staleness.on_exceed=drop",
                             "simulate.stragglers=1", "simulate.straggler_factor=3"});
  EXPECT_THAT(fleet.published_ms, ElementsAre(11, 22, 33, 44, 55, 66));
  EXPECT_THAT(fleet.staleness(), ElementsAre(6));
  EXPECT_EQ(fleet.counters().received, 8u);
  EXPECT_EQ(fleet.counters().dropped.at("stale"), 2u);
}

// A round is 2 (grant) + 10 (computing) + 2 (push) + 1 (receiving) + 5 (lane) ms.
const std::vector<std::string> kFarAway = {"actors.count=1", "simulate.network_ms=2",
                                           "simulate.receive_ms=1", "simulate.apply_ms=5"};

TEST(Simulator, WithOneGrantAnActorWaitsForItsAnswer) {
  auto settings = kFarAway;
  settings.emplace_back("updates.in_flight=1");
  const SmallFleet fleet(4, settings);
  EXPECT_THAT(fleet.published_ms, ElementsAre(20, 40, 60, 80));
  EXPECT_THAT(fleet.staleness(), ElementsAre(4));
  EXPECT_NEAR(fleet.time.actors.wait, 3 * 0.010, 1e-12);
  EXPECT_NEAR(fleet.time.actors.act, 4 * 0.010, 1e-12);
}

TEST(Simulator, WithTwoGrantsItComputesMeanwhile) {
  auto settings = kFarAway;
  settings.emplace_back("updates.in_flight=2");
  const SmallFleet fleet(4, settings);
  EXPECT_THAT(fleet.published_ms, ElementsAre(20, 30, 40, 50));
  EXPECT_THAT(fleet.staleness(), ElementsAre(1, 3)) << "its own last gradient came between";
  EXPECT_NEAR(fleet.time.actors.wait, 0, 1e-12);
}

TEST(Simulator, TakingNewWeightsTakesTime) {
  const SmallFleet fleet(3, {"actors.count=1", "updates.in_flight=1", "simulate.refresh_ms=2"});
  EXPECT_THAT(fleet.published_ms, ElementsAre(13, 26, 39));
  EXPECT_NEAR(fleet.time.actors.refresh, 0.006, 1e-12);
}

// At 10 the second unroll begins on the weights of the first: nothing newer is published.
TEST(Simulator, WeightsThatItHasAreNotTakenAgain) {
  const SmallFleet fleet(
      2, {"actors.count=1", "updates.in_flight=2", "simulate.refresh_ms=2", "simulate.apply_ms=4"});
  EXPECT_THAT(fleet.published_ms, ElementsAre(16, 26));
}

// Both arrive at 10. The network thread takes 3 ms for each, so the second is handled at 16.
TEST(Simulator, TheLearnerReceivesOneAfterTheOther) {
  const SmallFleet fleet(4, {"updates.in_flight=1", "simulate.receive_ms=3"});
  EXPECT_THAT(fleet.published_ms, ElementsAre(14, 17, 28, 31));
  EXPECT_NEAR(fleet.time.learner.receive, 0.012, 1e-12);
}

// A push takes 20 ms instead of 1, an answer still 1.
TEST(Simulator, ADelayedPushIsLate) {
  const SmallFleet fleet(3, {"actors.count=1", "updates.in_flight=1", "simulate.network_ms=1",
                             "simulate.delayed_share=1", "simulate.delayed_factor=20"});
  EXPECT_THAT(fleet.published_ms, ElementsAre(32, 64, 96));
}

TEST(Simulator, WhatAnActorSendsIsNotOvertaken) {
  const SmallFleet fleet(300, {"actors.count=3", "updates.in_flight=4", "simulate.network_ms=5",
                               "simulate.delayed_share=0.3", "simulate.delayed_factor=20",
                               "simulate.compute_spread=0.5"});
  std::vector<std::uint64_t> last(3, 0);
  for (const auto& arrival : fleet.Journal<learner::ArrivalRecord>()) {
    EXPECT_EQ(arrival.sequence, last[arrival.slot] + 1);
    last[arrival.slot] = arrival.sequence;
  }
  EXPECT_THAT(fleet.counters().dropped, IsEmpty());
}

// The slow one would take 10 s; after 0.1 s another gets its place in the order.
TEST(Simulator, WithADelayEachGrantKeepsItsWeights) {
  const SmallFleet fleet(
      500, {"actors.count=3", "updates.in_flight=2", "staleness.delay=2",
            "staleness.deadline_s=0.1", "simulate.stragglers=1", "simulate.straggler_factor=1000"});
  EXPECT_GE(fleet.counters().deadlines, 1u);
  EXPECT_GE(fleet.staleness().at(2), 490u);
  EXPECT_EQ(fleet.most_versions_kept, 1u);
}

// The slow one would take 10 s. After 0.1 s its grant ends, and its gradient is refused later.
TEST(Simulator, AGrantThatIsNotSpentEnds) {
  const SmallFleet fleet(1000, {"staleness.bound=0", "staleness.deadline_s=0.1",
                                "simulate.stragglers=1", "simulate.straggler_factor=1000"});
  EXPECT_EQ(fleet.published_ms[0], 101);
  EXPECT_EQ(fleet.published_ms[1], 112);
  EXPECT_EQ(fleet.published_ms[2], 123);
  EXPECT_EQ(fleet.counters().dropped.at("no_grant"), 1u);
  EXPECT_GE(fleet.counters().deadlines, 2u) << "it gets another chance";
  EXPECT_EQ(fleet.Journal<learner::LostRecord>().size(), fleet.counters().deadlines);
}

// Two grants are sent at once, for unrolls of 10 ms each: the second is spent after 20 ms.
TEST(Simulator, TheDeadlineOfASecondGrantBeginsWithItsUnroll) {
  const SmallFleet fleet(100, {"updates.in_flight=2", "staleness.deadline_s=0.015"});
  EXPECT_EQ(fleet.counters().deadlines, 0u);
  EXPECT_THAT(fleet.counters().dropped, IsEmpty());
}

// Of four actors two are enough for an update; all begin together and stay together in pairs.
TEST(Simulator, AnUpdateOfSeveralGradients) {
  const SmallFleet fleet(8, {"actors.count=4", "updates.in_flight=1", "updates.gradients=2"});
  EXPECT_THAT(fleet.published_ms, ElementsAre(11, 12, 22, 23));
  EXPECT_THAT(fleet.staleness(), ElementsAre(2, 6)) << "N / K - 1";
}

class EventQueueTest : public testing::Test {
 protected:
  void Add(std::int64_t at_ns, const std::string& name) {
    events_.At(at_ns, [this, name] { done_.push_back(name + std::to_string(events_.now_ns())); });
  }
  void DoAll() {
    while (!events_.empty()) events_.Next();
  }
  EventQueue events_;
  std::vector<std::string> done_;
};

TEST_F(EventQueueTest, TheEarliestFirstAndAtOneTimeInTheOrderTheyWereAdded) {
  for (const char* name : {"d", "a", "c", "b", "e", "z", "y"}) Add(30, name);
  Add(20, "x");
  DoAll();
  EXPECT_THAT(done_, ElementsAre("x20", "d30", "a30", "c30", "b30", "e30", "z30", "y30"));
}

TEST_F(EventQueueTest, AnEventMayAddOthersEvenForNow) {
  events_.At(1, [this] {
    Add(1, "now");
    Add(2, "later");
  });
  Add(2, "before");
  DoAll();
  EXPECT_THAT(done_, ElementsAre("now1", "before2", "later2"));
}

TEST_F(EventQueueTest, ThePastIsOurBug) {
  Add(7, "a");
  DoAll();
  EXPECT_DEATH(Add(6, "b"), "an event at 6 ns, and it is 7 ns");
}

}  // namespace
}  // namespace starling::simulate
