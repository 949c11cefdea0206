#include "learner/roster.h"

#include <gmock/gmock.h>

#include <set>

namespace starling::learner {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

std::vector<std::uint32_t> Slots(const std::vector<const Member*>& members) {
  std::vector<std::uint32_t> slots;
  for (const Member* member : members) slots.push_back(member->slot);
  return slots;
}

TEST(RosterTest, InTurnReturnsEveryMember) {
  Roster roster(1);
  EXPECT_THAT(Slots(roster.InTurn(2)), IsEmpty());
  for (const std::uint32_t slot : {0u, 1u, 2u, 5u, 9u}) roster.Join(slot, "peer");
  EXPECT_THAT(Slots(roster.InTurn(2)), ElementsAre(0, 1));
  EXPECT_THAT(Slots(roster.InTurn(2)), ElementsAre(2, 5));
  EXPECT_THAT(Slots(roster.InTurn(2)), ElementsAre(9, 0));
  EXPECT_THAT(Slots(roster.InTurn(7)), ElementsAre(0, 1, 2, 5, 9)) << "each once, in order";
}

TEST(RosterTest, InTurnSkipsMembersThatHaveLeft) {
  Roster roster(1);
  for (const std::uint32_t slot : {0u, 1u, 2u, 3u}) roster.Join(slot, "peer");
  EXPECT_THAT(Slots(roster.InTurn(2)), ElementsAre(0, 1));
  roster.Leave(2);
  EXPECT_THAT(Slots(roster.InTurn(2)), ElementsAre(3, 0));
}

TEST(RosterTest, RemembersWhyASlotIsEmpty) {
  Roster roster(1);
  roster.Join(2, "peer");
  EXPECT_THAT(roster.left(), IsEmpty());
  roster.Leave(2, "said goodbye");
  EXPECT_THAT(roster.left(), ElementsAre(Pair(2, "said goodbye")));
  roster.Join(2, "peer");
  EXPECT_THAT(roster.left(), IsEmpty()) << "it has a member again";
  // A peer may ask for any slot, so memory of the past is bounded.
  roster.Join(4'000'000'000, "peer");
  roster.Leave(4'000'000'000, "said goodbye");
  EXPECT_THAT(roster.left(), IsEmpty());
}

// After 65,536 lives the first incarnation came again.
TEST(RosterTest, EveryLifeOfASlotIsAnotherIncarnation) {
  constexpr std::uint32_t kLives = 200'000;
  Roster roster(3);
  std::set<std::uint32_t> seen;
  for (std::uint32_t life = 0; life < kLives; ++life) {
    const std::uint32_t incarnation = roster.Join(7, "peer").incarnation;
    ASSERT_EQ(wire::LifeOf(incarnation), life);
    ASSERT_TRUE(seen.insert(incarnation).second);
    roster.Leave(7);
  }
  Roster next(4);
  EXPECT_FALSE(seen.contains(next.Join(7, "peer").incarnation)) << "nor in the next term";
}

// A count for each slot that was ever asked for grew without end.
TEST(RosterTest, SlotsThatNoConfigurationHasShareOneCount) {
  Roster roster(1);
  for (std::uint32_t life = 0; life < 3; ++life) {
    for (const std::uint32_t slot : {0u, 1023u, 1024u, 4'000'000'000u}) {
      const bool shares = slot > 1023;
      EXPECT_EQ(wire::LifeOf(roster.Join(slot, "peer").incarnation),
                shares ? 2 * life + (slot > 1024 ? 1 : 0) : life);
      roster.Leave(slot);
    }
  }
}

}  // namespace
}  // namespace starling::learner
