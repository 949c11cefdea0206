// The learner's state for readers in other threads.
#include "learner/status_reporter.h"

#include <gmock/gmock.h>

#include <limits>

#include "tests/support/learner_fixture.h"

namespace starling::learner {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::int64_t> Slots(const std::vector<ActorStatus>& rows) {
  std::vector<std::int64_t> slots;
  for (const ActorStatus& row : rows) slots.push_back(row.slot);
  return slots;
}

TEST(SlotRows, ListEveryMemberAndEveryEmptySlot) {
  Roster roster(1);
  Member& one = roster.Join(1, "peer");
  one.heard_ms = 400;
  one.host = "far";
  one.pid = 7;
  one.key_name = "ada";
  one.version = 12;
  one.staleness = 3;
  one.accepted = 5;
  one.steps = 800;
  one.wait_us = 2'500'000;
  roster.Join(2, "other");
  roster.Leave(2, "said goodbye");
  Member& third = roster.Join(9, "third");
  third.heard_ms = 1000;
  const std::vector<ActorStatus> rows = SlotRows(roster, 4, 1000);
  EXPECT_THAT(rows,
              ElementsAre(ActorStatus{.slot = 0},
                          ActorStatus{.slot = 1,
                                      .incarnation = one.incarnation,
                                      .accepted = 5,
                                      .steps = 800,
                                      .version = 12,
                                      .staleness = 3,
                                      .wait_us = 2'500'000,
                                      .alive = true,
                                      .host = "far",
                                      .pid = 7,
                                      .key = "ada",
                                      .silent_s = 0.6},
                          ActorStatus{.slot = 2, .left = "said goodbye"}, ActorStatus{.slot = 3},
                          ActorStatus{.slot = 9, .incarnation = third.incarnation, .alive = true}));
}

TEST(SlotRows, AreBounded) {
  Roster roster(1);
  for (std::uint32_t slot = 1; slot <= kMaxRows; ++slot) roster.Join(slot, "peer");
  const std::vector<ActorStatus> rows = SlotRows(roster, 5, 0);
  ASSERT_EQ(rows.size(), kMaxRows);
  EXPECT_FALSE(rows.front().alive);
  EXPECT_EQ(rows.back().slot, kMaxRows - 1);
  EXPECT_EQ(SlotRows(Roster(1), 4 * kMaxRows, 0).size(), kMaxRows);
}

TEST(SlotRows, MayHoldTheLargestSlot) {
  Roster roster(1);
  const auto last = std::numeric_limits<std::uint32_t>::max();
  roster.Join(last, "peer");
  EXPECT_THAT(Slots(SlotRows(roster, 2, 0)), ElementsAre(0, 1, last));
}

using StatusReporterTest = LearnerFixture;

TEST_F(StatusReporterTest, HoldsTheStatusAndEverySlot) {
  Start("updates.start_with=1\nactors.count=3\nstaleness.bound=8");
  const auto a = NewActor(), b = NewActor();
  const wire::Grant old = b->NextGrant();
  a->Push(a->NextGrant(), 0.25f);
  a->Push(a->NextGrant(), 0.25f);
  a->NextGrant();
  b->Push(old, 0.25f);
  b->NextGrant();
  b->Send(wire::Leave{wire::LeaveReason::kLeaving, "enough"});
  // The version, too: one actor was alone at the beginning as well.
  std::shared_ptr<const PublishedStatus> published;
  ASSERT_TRUE(a->Await([&] {
    published = LastPublished();
    return published && published->status.actors_alive == 1 && published->status.version == 3 &&
           !published->status.checkpoint.empty();
  }));
  EXPECT_EQ(published->status.phase, "running");
  EXPECT_EQ(published->status.steps, 12u);
  EXPECT_THAT(published->status.staleness.histogram, ElementsAre(2, 0, 1));
  EXPECT_THAT(published->status.checkpoint, HasSubstr("-v000000000000.safetensors"));
  EXPECT_EQ(published->not_listed, 0u);
  ASSERT_THAT(Slots(published->actors), ElementsAre(0, 1, 2));
  EXPECT_TRUE(published->actors[0].alive);
  EXPECT_EQ(published->actors[0].host, "test");
  EXPECT_EQ(published->actors[0].pid, 1u);
  EXPECT_EQ(published->actors[0].version, 1u);
  EXPECT_EQ(published->actors[0].steps, 8u);
  EXPECT_EQ(published->actors[0].accepted, 2u);
  EXPECT_GE(published->actors[0].silent_s, 0.0);
  EXPECT_FALSE(published->actors[1].alive);
  EXPECT_EQ(published->actors[1].left, "said goodbye");
  EXPECT_EQ(published->actors[2], ActorStatus{.slot = 2});
}

TEST_F(StatusReporterTest, TheLastOneHasPhaseDone) {
  Start();
  Stop();
  ASSERT_TRUE(LastPublished());
  EXPECT_EQ(LastPublished()->status.phase, "done");
}

}  // namespace
}  // namespace starling::learner
