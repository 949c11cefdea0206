// staleness.delay: the order of updates, and what they are computed on.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "learner/staleness.h"

namespace starling::learner {
namespace {

// One update, as "slot:base slot:base -> version".
std::string Text(const Judge::Update& update) {
  std::string text;
  for (const HeldGradient& one : update.gradients) {
    text += (text.empty() ? "" : " ") + std::to_string(one.slot) + ":" + std::to_string(one.base);
  }
  return text + " -> " + std::to_string(update.version);
}

// A fleet whose gradients arrive in an order drawn from `seed`, each computed on the version of its
// grant.
class Fleet {
 public:
  Fleet(const JudgeRules& rules, std::uint32_t actors, std::uint32_t seed)
      : judge_(rules, 0), random_(seed) {
    std::vector<std::uint32_t> slots(actors);
    std::iota(slots.begin(), slots.end(), 0u);
    std::ranges::shuffle(slots, random_);
    for (const std::uint32_t slot : slots) judge_.Join(slot);
    judge_.Open();
  }

  // Returns the next update.
  std::string Next() {
    while (true) {
      if (const auto update = judge_.NextUpdate()) return Text(*update);
      const auto& outstanding = judge_.state().outstanding;
      if (outstanding.empty()) return "stuck";
      const Grant grant = outstanding[random_() % outstanding.size()];
      if (!IsNext(grant)) continue;  // an actor spends its grants in order
      EXPECT_EQ(judge_.Arrive(grant.slot, grant.number, grant.version, next_ticket_++),
                Arrival::kHeld);
    }
  }
  std::vector<std::string> Run(int updates) {
    std::vector<std::string> all;
    for (int i = 0; i < updates; ++i) all.push_back(Next());
    return all;
  }
  Judge& judge() { return judge_; }

 private:
  bool IsNext(const Grant& grant) const {
    return std::ranges::none_of(judge_.state().outstanding, [&](const Grant& other) {
      return other.slot == grant.slot && other.number < grant.number;
    });
  }

  Judge judge_;
  std::mt19937 random_;
  std::uint64_t next_ticket_ = 0;
};

JudgeRules Delay(std::uint64_t delay, std::uint64_t gradients = 1, std::uint64_t in_flight = 1) {
  return {.bound = delay, .gradients = gradients, .in_flight = in_flight, .delay = delay};
}

// Update k makes version k + 1 of a gradient of version max(0, k - 2); three actors take turns.
TEST(Delay, UpdateKTakesAGradientOfVersionKMinusD) {
  EXPECT_EQ(Fleet(Delay(2), 3, 1).Run(6),
            (std::vector<std::string>{"0:0 -> 1", "1:0 -> 2", "2:0 -> 3", "0:1 -> 4", "1:2 -> 5",
                                      "2:3 -> 6"}));
}

TEST(Delay, ZeroIsOneGradientAtATimeAndTheActorsTakeTurns) {
  EXPECT_EQ(Fleet(Delay(0), 3, 1).Run(4),
            (std::vector<std::string>{"0:0 -> 1", "1:1 -> 2", "2:2 -> 3", "0:3 -> 4"}));
}

TEST(Delay, HoldsForEachGradientOfAMergedUpdate) {
  EXPECT_EQ(
      Fleet(Delay(1, 2), 4, 1).Run(4),
      (std::vector<std::string>{"0:0 1:0 -> 1", "2:0 3:0 -> 2", "0:1 1:1 -> 3", "2:2 3:2 -> 4"}));
}

TEST(Delay, FewerActorsHoldSeveralGrants) {
  EXPECT_EQ(Fleet(Delay(3, 1, 2), 2, 1).Run(6),
            (std::vector<std::string>{"0:0 -> 1", "1:0 -> 2", "0:0 -> 3", "1:0 -> 4", "0:1 -> 5",
                                      "1:2 -> 6"}));
}

TEST(Delay, TheOrderDependsOnNoTiming) {
  const std::pair<JudgeRules, std::uint32_t> fleets[] = {
      {Delay(4), 5}, {Delay(4), 9}, {Delay(6, 2, 4), 4}};
  for (const auto& [rules, actors] : fleets) {
    const std::vector<std::string> first = Fleet(rules, actors, 1).Run(200);
    for (std::uint32_t seed = 2; seed < 20; ++seed) {
      ASSERT_EQ(Fleet(rules, actors, seed).Run(200), first);
    }
  }
}

// Only a gradient of exactly the grant's version counts.
TEST(Delay, RefusesAGradientOfNewerWeights) {
  Fleet fleet(Delay(1), 2, 1);
  const Grant late = fleet.judge().state().outstanding[1];
  ASSERT_EQ(late.slot, 1u);
  fleet.judge().Arrive(0, fleet.judge().state().outstanding[0].number, 0, 1);
  ASSERT_TRUE(fleet.judge().NextUpdate());
  EXPECT_EQ(fleet.judge().Arrive(1, late.number, 1, 2), Arrival::kFutureVersion);
  EXPECT_EQ(fleet.judge().Arrive(1, late.number, 0, 3), Arrival::kHeld);
}

// A lost grant makes the next updates fresher, and another actor takes its place; then the delay is
// whole again.
TEST(Delay, IsWholeAgainAfterALoss) {
  for (std::uint32_t seed = 1; seed < 20; ++seed) {
    Fleet fleet(Delay(2), 4, seed);
    fleet.Run(5);
    fleet.judge().RemoveActor(fleet.judge().state().outstanding.front().slot);
    std::vector<std::uint64_t> ages;
    for (int i = 0; i < 8; ++i) {
      const std::string text = fleet.Next();
      const auto base = std::stoull(text.substr(text.find(':') + 1));
      const auto version = std::stoull(text.substr(text.find("-> ") + 3));
      ages.push_back(version - 1 - base);
    }
    EXPECT_EQ(std::ranges::count(ages, 1u) + std::ranges::count(ages, 2u), 8);
    EXPECT_LE(std::ranges::count(ages, 1u), 3) << "the gap is filled with the next version";
    EXPECT_EQ(std::ranges::count(std::span(ages).last(4), 2u), 4);
  }
}

// With one gradient under way at a time, a lost one is replaced at once: nobody else would ask.
TEST(Delay, OfZeroGoesOnAfterALoss) {
  Fleet fleet(Delay(0), 2, 1);
  const Grant grant = fleet.judge().state().outstanding.front();
  EXPECT_TRUE(fleet.judge().ExpireGrant(grant.slot, grant.number));
  ASSERT_EQ(fleet.judge().state().outstanding.size(), 1u);
  EXPECT_EQ(fleet.judge().state().outstanding.front().slot, 1u);
  EXPECT_EQ(fleet.Next(), "1:0 -> 1");
}

// After a cut, which no run with a delay seeks, the pipeline fills again.
TEST(Delay, BeginsAnewAfterACut) {
  Fleet fleet(Delay(2), 3, 1);
  fleet.Run(4);
  fleet.judge().Withhold();
  EXPECT_EQ(fleet.Run(2), (std::vector<std::string>{"1:2 -> 5", "2:3 -> 6"}));
  EXPECT_EQ(fleet.Next(), "0:4 -> 7");
  ASSERT_TRUE(fleet.judge().AtCut());
  fleet.judge().Release();
  EXPECT_EQ(fleet.Run(4),
            (std::vector<std::string>{"1:7 -> 8", "2:7 -> 9", "0:7 -> 10", "1:8 -> 11"}));
}

}  // namespace
}  // namespace starling::learner
