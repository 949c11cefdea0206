// The learner's state for readers in other threads.
#include "learner/bulletin.h"

#include <gmock/gmock.h>

#include <limits>

#include "tests/support/learner_fixture.h"

namespace starling::learner {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::uint32_t> Slots(const std::vector<ActorRow>& rows) {
  std::vector<std::uint32_t> slots;
  for (const ActorRow& row : rows) slots.push_back(row.slot);
  return slots;
}

TEST(ActorRows, ListEveryMemberAndEveryEmptySlot) {
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
  roster.Join(9, "third").heard_ms = 1000;
  const std::vector<ActorRow> rows = ActorRows(roster, 4, 1000);
  EXPECT_THAT(rows, ElementsAre(ActorRow{.slot = 0},
                                ActorRow{.slot = 1,
                                         .alive = true,
                                         .host = "far",
                                         .pid = 7,
                                         .key = "ada",
                                         .version = 12,
                                         .lag = 3,
                                         .gradients = 5,
                                         .steps = 800,
                                         .wait_s = 2.5,
                                         .silent_s = 0.6},
                                ActorRow{.slot = 2, .left = "said goodbye"}, ActorRow{.slot = 3},
                                ActorRow{.slot = 9, .alive = true}));
}

TEST(ActorRows, AreBounded) {
  Roster roster(1);
  for (std::uint32_t slot = 1; slot <= kMaxRows; ++slot) roster.Join(slot, "peer");
  const std::vector<ActorRow> rows = ActorRows(roster, 5, 0);
  ASSERT_EQ(rows.size(), kMaxRows);
  EXPECT_FALSE(rows.front().alive);
  EXPECT_EQ(rows.back().slot, kMaxRows - 1);
  EXPECT_EQ(ActorRows(Roster(1), 4 * kMaxRows, 0).size(), kMaxRows);
}

TEST(ActorRows, MayHoldTheLargestSlot) {
  Roster roster(1);
  const auto last = std::numeric_limits<std::uint32_t>::max();
  roster.Join(last, "peer");
  EXPECT_THAT(Slots(ActorRows(roster, 2, 0)), ElementsAre(0, 1, last));
}

using BulletinTest = LearnerFixture;

TEST_F(BulletinTest, HoldsTheStatusAndEverySlot) {
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
  std::shared_ptr<const Bulletin> bulletin;
  ASSERT_TRUE(a->Await([&] {
    bulletin = LastBulletin();
    return bulletin && bulletin->status.actors_alive == 1 && bulletin->status.version == 3 &&
           !bulletin->status.checkpoint.empty();
  }));
  EXPECT_EQ(bulletin->status.phase, "running");
  EXPECT_EQ(bulletin->status.steps, 12u);
  EXPECT_THAT(bulletin->status.staleness.histogram, ElementsAre(2, 0, 1));
  EXPECT_THAT(bulletin->status.checkpoint, HasSubstr("-v000000000000.safetensors"));
  EXPECT_EQ(bulletin->not_listed, 0u);
  ASSERT_THAT(Slots(bulletin->actors), ElementsAre(0, 1, 2));
  EXPECT_TRUE(bulletin->actors[0].alive);
  EXPECT_EQ(bulletin->actors[0].host, "test");
  EXPECT_EQ(bulletin->actors[0].pid, 1u);
  EXPECT_EQ(bulletin->actors[0].version, 1u);
  EXPECT_EQ(bulletin->actors[0].steps, 8u);
  EXPECT_EQ(bulletin->actors[0].gradients, 2u);
  EXPECT_GE(bulletin->actors[0].silent_s, 0.0);
  EXPECT_FALSE(bulletin->actors[1].alive);
  EXPECT_EQ(bulletin->actors[1].left, "said goodbye");
  EXPECT_EQ(bulletin->actors[2], ActorRow{.slot = 2});
}

TEST_F(BulletinTest, TheLastOneHasPhaseDone) {
  Start();
  Stop();
  ASSERT_TRUE(LastBulletin());
  EXPECT_EQ(LastBulletin()->status.phase, "done");
}

}  // namespace
}  // namespace starling::learner
