// The arithmetic of the judge, written out. The exhaustive search is in staleness_search_test.cc,
// whole timelines of every kind of fleet are in docs/spectrum (spectrum_test.cc).
#include "learner/staleness.h"

#include <gmock/gmock.h>

#include <algorithm>

#include <string>

namespace starling::learner {
namespace {

using testing::ElementsAreArray;

JudgeState State(std::uint64_t version, std::vector<std::uint64_t> held_bases,
                 std::vector<std::uint64_t> outstanding_versions) {
  JudgeState state;
  state.version = version;
  std::uint64_t n = 0;
  for (std::uint64_t base : held_bases)
    state.held.push_back({.slot = 0, .base = base, .arrival = n++});
  for (std::uint64_t u : outstanding_versions) state.outstanding.push_back({0, n++, u});
  return state;
}

TEST(DueUpdate, FollowsTheRules) {
  using Numbers = std::vector<std::uint64_t>;
  const struct {
    const char* what;
    JudgeRules rules;
    std::uint64_t version;
    Numbers held, outstanding;
    std::vector<std::size_t> due;
  } cases[] = {
      {"nothing held is never due", {.bound = 4}, 7, {}, {}, {}},
      // 7 + 1 - 7 = 1 > 0: the outstanding grant would be spent too late.
      {"bound 0 waits for every outstanding grant", {.bound = 0}, 7, {7, 7}, {7}, {}},
      {"it does not wait for others", {.bound = 0}, 7, {7, 7, 7}, {}, {0, 1, 2}},
      {"bound 3, 10 - 7 = 3", {.bound = 3}, 9, {9}, {7}, {0}},
      {"bound 3, 10 - 6 = 4", {.bound = 3}, 9, {9}, {6}, {}},
      {"drop waits for no old grant", {.bound = 0, .drop = true}, 9, {9}, {2}, {0}},
      {"unbounded never waits", {.bound = kUnbounded}, 1000, {3}, {1}, {0}},
      {"waits for K", {.bound = 8, .gradients = 3}, 5, {5, 5}, {5}, {}},
      {"which have arrived", {.bound = 8, .gradients = 3}, 5, {5, 5, 4}, {5}, {2, 0, 1}},
      {"unless nothing is outstanding", {.bound = 8, .gradients = 3}, 5, {5, 4}, {}, {1, 0}},
      {"the oldest K, then by arrival", {.bound = 8, .gradients = 2}, 6, {6, 5, 6, 5}, {6}, {1, 3}},
      // After the update the version is 7; base 5 would be 2 > 1 late, base 6 exactly 1.
      {"and those too old afterwards", {.bound = 1, .gradients = 1}, 6, {6, 5, 5, 6}, {}, {1, 2}},
  };
  for (const auto& [what, rules, version, held, outstanding, due] : cases) {
    EXPECT_THAT(DueUpdate(rules, State(version, held, outstanding)), ElementsAreArray(due)) << what;
  }
}

// The sum of an update is in the order of slots: the gradient of slot 2 must wait for slot 1 if
// that can still send one, that of slot 0 need not.
TEST(CertainNext, AreThoseThatNoOtherCanPrecede) {
  using Slots = std::vector<std::uint32_t>;
  const struct {
    const char* what;
    JudgeRules rules;
    Slots held, outstanding, certain;
  } cases[] = {
      {"nothing is held", {.bound = 0}, {}, {0, 1}, {}},
      {"slot 1 can still send", {.bound = 0}, {2, 0}, {1, 3}, {0}},
      {"slot 0 can still send", {.bound = 0}, {2, 1}, {0}, {}},
      {"in the order of slots", {.bound = 0}, {2, 0, 1}, {3}, {0, 1, 2}},
      {"all are here", {.bound = 0}, {2, 0, 1}, {}, {0, 1, 2}},
      {"bound 1 may take others first", {.bound = 1}, {0}, {1}, {}},
      {"so may drop", {.bound = 0, .drop = true}, {0}, {1}, {}},
  };
  for (const auto& [what, rules, held, outstanding, certain] : cases) {
    JudgeState state;
    std::uint64_t n = 0;
    for (const std::uint32_t slot : held) state.held.push_back({.slot = slot, .arrival = n++});
    for (const std::uint32_t slot : outstanding) state.outstanding.push_back({slot, n++, 0});
    Slots found;
    for (const HeldGradient& gradient : CertainNext(rules, state)) found.push_back(gradient.slot);
    EXPECT_THAT(found, ElementsAreArray(certain)) << what;
  }
}

// Drives a judge and keeps its grants in the actors' hands, by slot.
class JudgeTest : public testing::Test {
 protected:
  void Start(const JudgeRules& rules, std::uint32_t actors) {
    judge_.emplace(rules, 0);
    for (std::uint32_t slot = 0; slot < actors; ++slot) judge_->Join(slot);
    judge_->Open();
    Take();
  }
  void Take() {
    for (const Grant& grant : judge_->TakeGrants()) {
      auto& hand = hand_[grant.slot];
      const auto anew = std::ranges::find(hand, grant.number, &Grant::number);
      anew != hand.end() ? void(*anew = grant) : hand.push_back(grant);
    }
  }
  // The actor has played the unroll of this grant.
  bool Acted(std::uint32_t slot, std::uint64_t number) {
    const bool live = judge_->Acted(slot, number);
    Take();
    return live;
  }
  // The actor spends its oldest grant on a gradient of `base`.
  Arrival Push(std::uint32_t slot, std::uint64_t base) {
    const Grant grant = hand_[slot].front();
    hand_[slot].erase(hand_[slot].begin());
    const Arrival verdict = judge_->Arrive(slot, grant.number, base, next_ticket_++);
    Take();
    return verdict;
  }
  // Returns "slot:base slot:base -> version" for the next update, "" if none is due.
  std::string Next() {
    const auto update = judge_->NextUpdate();
    Take();
    if (!update) return "";
    std::string text;
    for (const auto& g : update->gradients) {
      text += std::to_string(g.slot) + ":" + std::to_string(g.base) + " ";
    }
    return text + "-> " + std::to_string(update->version);
  }
  std::optional<Judge> judge_;
  std::vector<Grant> hand_[8];
  std::uint64_t next_ticket_ = 0;
};

TEST_F(JudgeTest, AGrantIsSpentOnce) {
  Start({}, 1);
  const Grant grant = hand_[0][0];
  EXPECT_EQ(Push(0, 0), Arrival::kHeld);
  EXPECT_EQ(judge_->Arrive(0, grant.number, 0, 9), Arrival::kNoGrant);
  Next();
  EXPECT_EQ(judge_->Arrive(0, grant.number, 0, 9), Arrival::kNoGrant);
}

TEST_F(JudgeTest, AGrantOfAnotherSlotIsRefused) {
  Start({}, 2);
  EXPECT_EQ(judge_->Arrive(0, hand_[1][0].number, 0, 9), Arrival::kNoGrant);
  EXPECT_EQ(judge_->state().outstanding.size(), 2u);
}

TEST_F(JudgeTest, RefusesABaseBelowTheGrantOrFromTheFuture) {
  Start({}, 1);
  Push(0, 0);
  Next();
  const Grant grant = hand_[0][0];
  ASSERT_EQ(grant.version, 1u);
  EXPECT_EQ(judge_->Arrive(0, grant.number, 0, 9), Arrival::kBelowGrant);
  EXPECT_EQ(judge_->Arrive(0, grant.number, 2, 9), Arrival::kFutureVersion);
  EXPECT_EQ(judge_->Arrive(0, grant.number, 1, 9), Arrival::kHeld);
}

TEST_F(JudgeTest, AJoinerIsGrantedAtOnceIfNothingIsHeldElseWithTheNextVersion) {
  Start({.bound = 0}, 2);
  judge_->Join(2);
  Take();
  ASSERT_EQ(hand_[2].size(), 1u);
  EXPECT_EQ(hand_[2][0].version, 0u);
  Push(0, 0);
  judge_->Join(3);
  Take();
  EXPECT_TRUE(hand_[3].empty());
  Push(1, 0);
  EXPECT_EQ(Next(), "");
  Push(2, 0);
  EXPECT_EQ(Next(), "0:0 1:0 2:0 -> 1");
  ASSERT_EQ(hand_[3].size(), 1u);
  EXPECT_EQ(hand_[3][0].version, 1u);
}

TEST_F(JudgeTest, ADeathReleasesTheOthersAndItsHeldGradientCounts) {
  Start({.bound = 0}, 3);
  Push(0, 0);
  Push(1, 0);
  EXPECT_EQ(judge_->RemoveActor(2).size(), 1u);
  EXPECT_TRUE(judge_->RemoveActor(1).empty());
  EXPECT_EQ(Next(), "0:0 1:0 -> 1");
  EXPECT_EQ(hand_[0].size(), 1u);
  EXPECT_TRUE(hand_[1].empty());  // slot 1 has no actor
}

TEST_F(JudgeTest, ANewIncarnationBesideItsPredecessorsHeldGradientIsGrantedOnce) {
  Start({.bound = 0}, 2);
  Push(1, 0);
  judge_->RemoveActor(1);
  judge_->Join(1);
  Push(0, 0);
  EXPECT_EQ(Next(), "0:0 1:0 -> 1");
  EXPECT_EQ(hand_[1].size(), 1u);
}

TEST_F(JudgeTest, ALostGrantReleasesTheOthersAndItsGradientIsRefused) {
  Start({.bound = 0}, 2);
  Push(0, 0);
  const Grant late = hand_[1][0];
  EXPECT_TRUE(judge_->RevokeGrant(1, late.number));
  EXPECT_FALSE(judge_->RevokeGrant(1, late.number));
  EXPECT_EQ(Next(), "0:0 -> 1");
  EXPECT_EQ(judge_->Arrive(1, late.number, 0, 9), Arrival::kNoGrant);
  judge_->GrantOrQueue(1);
  judge_->GrantOrQueue(1);  // it never holds more than in_flight
  Take();
  EXPECT_EQ(hand_[1].size(), 2u);  // the late one and one live
}

// ---- several gradients of one unroll

constexpr JudgeRules kTwoUses{.bound = 1, .uses = 2, .acts_first = true};

// While actor 1 plays, updates pass that its grant would forbid: version 0 + 3 > bound 1.
TEST_F(JudgeTest, NoUpdateWaitsForAnUnroll) {
  Start(kTwoUses, 2);
  EXPECT_TRUE(hand_[1][0].acting);
  for (std::uint64_t version = 0; version < 3; ++version) {
    if (hand_[0][0].acting) {
      EXPECT_TRUE(Acted(0, hand_[0][0].number));
    }
    EXPECT_EQ(Push(0, version), Arrival::kHeld);
    EXPECT_EQ(Next(), "0:" + std::to_string(version) + " -> " + std::to_string(version + 1));
  }
  // It has played: its grant is now one of version 3, under the same number.
  const std::uint64_t number = hand_[1][0].number;
  EXPECT_TRUE(Acted(1, number));
  const Grant* anew = judge_->FindGrant(number);
  ASSERT_NE(anew, nullptr);
  EXPECT_EQ(anew->version, 3u);
  EXPECT_FALSE(anew->acting);
  // From here on updates wait for it as for any other: 3 + 2 - 3 > 1.
  EXPECT_EQ(Push(0, 3), Arrival::kHeld);
  EXPECT_EQ(Next(), "0:3 -> 4");
  EXPECT_EQ(Push(0, 4), Arrival::kHeld);
  EXPECT_EQ(Next(), "");
  EXPECT_EQ(judge_->Arrive(1, number, 3, 99), Arrival::kHeld);
  EXPECT_EQ(Next(), "1:3 -> 5");
}

TEST_F(JudgeTest, AtBoundZeroEveryUpdateWaitsForEveryUnroll) {
  Start({.bound = 0, .uses = 2, .acts_first = true}, 2);
  Acted(0, hand_[0][0].number);
  Push(0, 0);
  EXPECT_EQ(Next(), "");
  Acted(1, hand_[1][0].number);
  Push(1, 0);
  EXPECT_EQ(Next(), "0:0 1:0 -> 1");
}

TEST_F(JudgeTest, GrantsKnowTheirPlaceInTheUnroll) {
  Start({.bound = kUnbounded, .uses = 3, .acts_first = true}, 1);
  for (std::uint64_t i = 0; i < 7; ++i) {
    EXPECT_EQ(hand_[0].front().use, i % 3);
    EXPECT_EQ(hand_[0].front().acting, i % 3 == 0);
    EXPECT_EQ(Push(0, i), Arrival::kHeld);
    Next();
  }
  judge_->RemoveActor(0);
  judge_->Join(0);
  Take();
  EXPECT_EQ(hand_[0].back().use, 0u) << "its successor begins with an unroll";
}

// With two grants, the second waits for the unroll of the first; those behind it are of the next.
TEST_F(JudgeTest, AnUnrollRenewsItsOwnGrantsAlone) {
  Start({.bound = 4, .in_flight = 3, .uses = 2, .acts_first = true}, 1);
  ASSERT_EQ(hand_[0].size(), 3u);
  for (const Grant& grant : hand_[0]) EXPECT_TRUE(grant.acting);
  Acted(0, hand_[0][0].number);
  EXPECT_FALSE(judge_->FindGrant(hand_[0][0].number)->acting);
  EXPECT_FALSE(judge_->FindGrant(hand_[0][1].number)->acting);
  EXPECT_TRUE(judge_->FindGrant(hand_[0][2].number)->acting);
}

// An actor that does not ask is no danger: what is too old is refused.
TEST_F(JudgeTest, AnOldGradientUnderAnActingGrantIsRefused) {
  Start(kTwoUses, 2);
  const Grant acting = hand_[1][0];
  for (std::uint64_t version = 0; version < 2; ++version) {
    Acted(0, hand_[0].front().number);
    Push(0, version);
    Next();
  }
  EXPECT_EQ(judge_->Arrive(1, acting.number, 0, 9), Arrival::kStale);
  Take();
  EXPECT_EQ(hand_[1].back().use, 1u);
}

TEST_F(JudgeTest, ACutComesWhereAllUnrollsHaveRunOut) {
  Start({.bound = 0, .uses = 2, .acts_first = true}, 1);
  judge_->Withhold();
  Push(0, 0);
  auto update = judge_->NextUpdate();
  ASSERT_TRUE(update);
  EXPECT_FALSE(update->cut) << "one gradient is left";
  Take();
  ASSERT_EQ(hand_[0].size(), 1u) << "and is granted";
  Push(0, 1);
  update = judge_->NextUpdate();
  ASSERT_TRUE(update);
  EXPECT_TRUE(update->cut);
  Take();
  EXPECT_TRUE(hand_[0].empty()) << "no new unroll";
  judge_->Release();
  Take();
  EXPECT_EQ(hand_[0].size(), 1u);
}

TEST_F(JudgeTest, AtBoundZeroEveryVersionIsACut) {
  Start({.bound = 0}, 2);
  for (std::uint64_t version = 1; version <= 3; ++version) {
    EXPECT_FALSE(judge_->AtCut());
    Push(1, version - 1);
    Push(0, version - 1);
    const auto update = judge_->NextUpdate();
    Take();
    ASSERT_TRUE(update);
    EXPECT_TRUE(update->cut);
    EXPECT_EQ(hand_[0].size() + hand_[1].size(), 2u);  // no actor waits for it
  }
}

TEST_F(JudgeTest, WithheldGrantsRunOutIntoACut) {
  Start({.bound = 4, .in_flight = 2}, 2);
  Push(0, 0);
  EXPECT_EQ(Next(), "0:0 -> 1");
  judge_->Withhold();
  for (const std::uint32_t slot : {0u, 0u, 1u}) {
    Push(slot, 1);
    const auto update = judge_->NextUpdate();
    ASSERT_TRUE(update);
    EXPECT_FALSE(update->cut);
  }
  judge_->Join(2);  // waits, too
  Push(1, 1);
  const auto last = judge_->NextUpdate();
  ASSERT_TRUE(last);
  EXPECT_TRUE(last->cut);
  EXPECT_EQ(last->version, 5u);
  EXPECT_TRUE(judge_->TakeGrants().empty());
  judge_->Release();
  Take();
  for (int slot = 0; slot < 3; ++slot) {
    ASSERT_EQ(hand_[slot].size(), 2u) << slot;
    EXPECT_EQ(hand_[slot][0].version, 5u);
  }
}

TEST_F(JudgeTest, WhileAGradientIsLateThereIsNoCut) {
  Start({.bound = 0}, 2);
  const Grant late = hand_[1][0];
  EXPECT_TRUE(judge_->ExpireGrant(1, late.number));
  Push(0, 0);
  EXPECT_FALSE(judge_->NextUpdate()->cut);
  EXPECT_EQ(judge_->Arrive(1, late.number, 0, 9), Arrival::kNoGrant);
  judge_->GrantOrQueue(1);
  Take();
  Push(0, 1);
  hand_[1].erase(hand_[1].begin());
  Push(1, 1);
  EXPECT_TRUE(judge_->NextUpdate()->cut);
}

TEST_F(JudgeTest, InFlightTwoHandsOutTwoGrants) {
  Start({.bound = 4, .in_flight = 2}, 1);
  EXPECT_EQ(hand_[0].size(), 2u);
  Push(0, 0);
  EXPECT_EQ(Next(), "0:0 -> 1");
  EXPECT_EQ(hand_[0].size(), 2u);
}

TEST_F(JudgeTest, NothingIsGrantedBeforeOpen) {
  judge_.emplace(JudgeRules{}, 40);
  judge_->Join(0);
  EXPECT_TRUE(judge_->TakeGrants().empty());
  judge_->Open();
  const auto grants = judge_->TakeGrants();
  ASSERT_EQ(grants.size(), 1u);
  EXPECT_EQ(grants[0].version, 40u);
}

// An uncompleted update has a gradient of base 7. If the update of version 9 lands before it, its
// staleness is 1; version 12 makes it 4.
TEST(MayOvertake, CountsTheOvertakerAsOneMoreVersionBetween) {
  EXPECT_TRUE(MayOvertake(1, 9, 7));
  EXPECT_FALSE(MayOvertake(1, 10, 7));
  EXPECT_TRUE(MayOvertake(4, 12, 7));
  EXPECT_FALSE(MayOvertake(4, 13, 7));
  EXPECT_FALSE(MayOvertake(0, 9, 7));  // bound 0: one update at a time
  EXPECT_TRUE(MayOvertake(kUnbounded, 1'000'000, 0));
}

}  // namespace
}  // namespace starling::learner
