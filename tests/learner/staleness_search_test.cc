// An exhaustive search over small fleets: every order of joins, arrivals, refusals, losses, deaths
// and withheld grants, for every bound and K, until no new state appears. In each state: no
// gradient was applied over the bound, twice or never, and the fleet can go on or reaches its cut.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "learner/staleness.h"

namespace starling::learner {
namespace {

struct World {
  Judge judge;
  std::uint32_t present = 0;            // bit per slot
  std::set<std::uint64_t> unapplied{};  // tickets of held gradients that no update has taken
  std::uint64_t next_ticket = 1;
  std::vector<std::uint64_t> certain{};  // tickets that the next sum begins with

  explicit World(const JudgeRules& rules) : judge(rules, 0) {}

  bool Has(std::uint32_t slot) const { return (present >> slot) & 1u; }

  // Names the state. Behaviour depends only on order and on differences of versions, and all ages
  // over the bound behave alike, so a bounded fleet has finitely many states.
  std::string Key() const {
    const JudgeState& state = judge.state();
    std::string key = judge.open() ? "o" : "c";
    if (judge.withheld()) key += "w";
    key += std::to_string(present);
    for (const auto& [slot, number] : judge.late()) key += "l" + std::to_string(slot);
    for (const Grant& g : state.outstanding) {
      std::uint64_t age = state.version - g.version;
      if (judge.rules().bound != kUnbounded) age = std::min(age, judge.rules().bound + 1);
      key += "|g" + std::to_string(g.slot) + "." + std::to_string(age);
      key += "." + std::to_string(g.use) + (g.acting ? "a" : "");
    }
    for (const HeldGradient& h : state.held) {
      key += "|h" + std::to_string(h.slot) + "." + std::to_string(state.version - h.base);
      if (h.orphan) key += "x";
      if (judge.rules().delayed()) {  // its place among the grants
        key += "#" + std::to_string(std::ranges::count_if(
                         state.outstanding, [&](const Grant& g) { return g.number < h.grant; }));
      }
    }
    for (std::uint32_t slot : judge.waiting()) key += "|w" + std::to_string(slot);
    for (std::uint32_t slot = 0; slot < 32; ++slot) {
      if (Has(slot)) key += "|n" + std::to_string(judge.NextUse(slot));
    }
    return key;
  }

  // Applies every update that is due; fails the test if one breaks a rule.
  void Settle() {
    const JudgeRules& rules = judge.rules();
    while (const auto update = judge.NextUpdate()) {
      ASSERT_EQ(update->version, judge.version());
      ASSERT_FALSE(update->gradients.empty());
      ExpectCertain(update->gradients);
      certain.clear();
      for (const HeldGradient& g : update->gradients) {
        const std::uint64_t staleness = update->version - 1 - g.base;
        if (rules.bound != kUnbounded) {
          ASSERT_LE(staleness, rules.bound);
        }
        if (rules.delayed()) {
          ASSERT_LE(staleness, rules.delay);
        }
        ASSERT_EQ(unapplied.erase(g.ticket), 1u) << "applied twice";
      }
    }
    const JudgeState& state = judge.state();
    ASSERT_EQ(unapplied.size(), state.held.size()) << "a held gradient vanished";
    const std::vector<HeldGradient> now = CertainNext(rules, state);
    ExpectCertain(now);
    certain.clear();
    for (const HeldGradient& gradient : now) certain.push_back(gradient.ticket);
    if (judge.open() && !state.held.empty()) {
      ASSERT_FALSE(state.outstanding.empty()) << "stuck";
    }
    if (rules.delayed()) {
      ASSERT_LE(state.held.size() + state.outstanding.size(), rules.gradients * (rules.delay + 1));
      ASSERT_FALSE(judge.open() && !judge.withheld() && !judge.waiting().empty() &&
                   state.outstanding.empty())
          << "nobody computes";
    }
    std::map<std::uint32_t, std::uint64_t> permits;
    for (const Grant& g : state.outstanding) {
      ASSERT_TRUE(Has(g.slot)) << "a grant to the dead";
      ASSERT_LE(++permits[g.slot], rules.in_flight);
    }
    // No unroll is granted, but those that have begun run out.
    const std::vector<Grant> granted = judge.TakeGrants();
    ASSERT_FALSE(judge.withheld() && std::ranges::any_of(granted, [&](const Grant& grant) {
                   return grant.use == 0 && grant.acting == rules.acts_first;
                 }));
  }

  // Whatever comes, `gradients` begin with those that were certain before.
  void ExpectCertain(const std::vector<HeldGradient>& gradients) const {
    ASSERT_GE(gradients.size(), certain.size());
    for (std::size_t i = 0; i < certain.size(); ++i) {
      ASSERT_EQ(gradients[i].ticket, certain[i]) << Key();
    }
  }

  void Push(const Grant& grant, std::uint64_t base) {
    const Arrival verdict = judge.Arrive(grant.slot, grant.number, base, next_ticket);
    if (verdict == Arrival::kHeld) {
      unapplied.insert(next_ticket++);
    } else {
      ASSERT_EQ(verdict, Arrival::kStale);
      ASSERT_TRUE(judge.rules().drop || grant.acting);
    }
    Settle();
  }
};

// Visits every world that one event can make of `world`.
template <class Visit>
void ForEachEvent(const World& world, std::uint32_t slots, const Visit& visit) {
  const auto with = [&](const auto& event) {
    World next = world;
    event(next);
    if (!testing::Test::HasFatalFailure()) next.Settle();
    visit(std::move(next));
  };
  if (!world.judge.open()) with([](World& w) { w.judge.Open(); });
  with([](World& w) { w.judge.withheld() ? w.judge.Release() : w.judge.Withhold(); });
  for (std::uint32_t slot = 0; slot < slots; ++slot) {
    if (!world.Has(slot)) {
      with([&](World& w) {
        w.present |= 1u << slot;
        w.judge.Join(slot);
      });
    } else {
      with([&](World& w) {
        w.present &= ~(1u << slot);
        w.judge.RemoveActor(slot);
      });
      // A gradient without a live grant (late, duplicated) is refused and its actor asks again.
      with([&](World& w) {
        ASSERT_EQ(w.judge.Arrive(slot, 1'000'000, 0, 0), Arrival::kNoGrant);
        w.judge.GrantOrQueue(slot);
      });
    }
  }
  for (const auto& [slot, number] : world.judge.late()) {
    with([&](World& w) { EXPECT_FALSE(w.judge.Acted(slot, number)); });
    with([&](World& w) {
      ASSERT_EQ(w.judge.Arrive(slot, number, 0, 0), Arrival::kNoGrant);
      w.judge.GrantOrQueue(slot);
    });
  }
  for (const Grant& grant : world.judge.state().outstanding) {
    const bool delayed = world.judge.rules().delayed();
    const std::uint64_t newest = delayed ? grant.version : world.judge.version();
    for (std::uint64_t base = grant.version; base <= newest; ++base) {
      with([&](World& w) { w.Push(grant, base); });
    }
    with([&](World& w) { w.judge.ExpireGrant(grant.slot, grant.number); });
    // Its unroll is played, so it is of the newest version.
    if (grant.acting && grant.use == 0) {
      with([&](World& w) {
        ASSERT_TRUE(w.judge.Acted(grant.slot, grant.number));
        const Grant* anew = w.judge.FindGrant(grant.number);
        ASSERT_TRUE(anew != nullptr && !anew->acting && anew->version == w.judge.version());
      });
    }
    // The gradient arrives, and its content is refused.
    with([&](World& w) {
      w.judge.RevokeGrant(grant.slot, grant.number);
      w.judge.GrantOrQueue(grant.slot);
    });
  }
}

// If from now on every grant is spent, also the late ones, and nothing fails, the cut must follow,
// and then every actor is granted what it may hold.
void ExpectCut(World world) {
  while (!world.judge.state().outstanding.empty() || !world.judge.late().empty()) {
    while (!world.judge.state().outstanding.empty()) {
      const Grant oldest = world.judge.state().outstanding.front();
      world.Push(oldest, world.judge.rules().delayed() ? oldest.version : world.judge.version());
      if (testing::Test::HasFatalFailure()) return;
    }
    const auto late = world.judge.late();
    for (const auto& [slot, number] : late) {
      world.judge.Arrive(slot, number, 0, 0);
      world.judge.GrantOrQueue(slot);
    }
  }
  ASSERT_TRUE(world.judge.AtCut()) << world.Key();
  world.judge.Release();
  if (!world.judge.open()) return;
  if (world.judge.rules().delayed()) {  // as many as it allows
    ASSERT_EQ(world.judge.state().outstanding.empty(), world.present == 0) << world.Key();
    return;
  }
  for (std::uint32_t slot = 0; slot < 32; ++slot) {
    if (!world.Has(slot)) continue;
    const auto granted = std::ranges::count(world.judge.state().outstanding, slot, &Grant::slot);
    ASSERT_GE(granted, 1) << world.Key();
  }
}

// If from now on every live grant is spent and nothing fails, an update must follow.
void ExpectProgress(World world) {
  if (world.judge.withheld()) return ExpectCut(std::move(world));
  if (!world.judge.open() || world.judge.state().outstanding.empty()) return;
  const std::uint64_t before = world.judge.version();
  // An update needs at most all live grants; each is refused as stale and granted again at most
  // once.
  std::size_t budget = 2 * world.judge.state().outstanding.size() + 2;
  while (world.judge.version() == before) {
    ASSERT_GT(budget--, 0u) << "no update although every grant is spent: " << world.Key();
    ASSERT_FALSE(world.judge.state().outstanding.empty()) << world.Key();
    const Grant oldest = world.judge.state().outstanding.front();
    world.Push(oldest, oldest.version);
    if (testing::Test::HasFatalFailure()) return;
  }
}

struct Fleet {
  std::uint32_t slots;
  JudgeRules rules;
  std::size_t limit;  // states; without a bound the search has no end
};

std::size_t Search(const Fleet& fleet) {
  World start(fleet.rules);
  std::set<std::string> seen{start.Key()};
  std::vector<World> frontier{start};
  while (!frontier.empty() && seen.size() < fleet.limit) {
    World world = std::move(frontier.back());
    frontier.pop_back();
    ExpectProgress(world);
    ForEachEvent(world, fleet.slots, [&](World next) {
      if (seen.insert(next.Key()).second) frontier.push_back(std::move(next));
    });
    if (testing::Test::HasFatalFailure()) {
      ADD_FAILURE() << "bound " << fleet.rules.bound << ", K " << fleet.rules.gradients << ", drop "
                    << fleet.rules.drop << ", in flight " << fleet.rules.in_flight
                    << ", after state " << world.Key();
      break;
    }
  }
  return seen.size();
}

class StalenessSearch : public testing::TestWithParam<std::tuple<std::uint64_t, bool>> {};

TEST_P(StalenessSearch, NoFleetGoesOverTheBoundOrGetsStuck) {
  const auto [bound, drop] = GetParam();
  std::size_t states = 0;
  for (std::uint64_t k = 1; k <= 4; ++k) {
    for (std::uint64_t in_flight = 1; in_flight <= (bound == 0 ? 1u : 2u); ++in_flight) {
      for (std::uint32_t slots = 1; slots <= (in_flight == 1 ? 3u : 2u); ++slots) {
        const std::size_t limit = bound == kUnbounded ? 600 : 60'000;
        const std::size_t found = Search({slots, {bound, drop, k, in_flight}, limit});
        if (bound != kUnbounded) {
          EXPECT_LT(found, limit) << "the search is not complete";
        }
        states += found;
        if (HasFatalFailure() || HasNonfatalFailure()) return;
      }
    }
  }
  RecordProperty("states", static_cast<int>(states));
  EXPECT_GT(states, 100u);
}

// The same where an unroll gives one or two gradients on newer weights.
TEST_P(StalenessSearch, NorDoesOneThatUsesItsDataAgain) {
  const auto [bound, drop] = GetParam();
  for (const std::uint64_t uses : {1u, 2u}) {
    for (std::uint64_t k = 1; k <= 2; ++k) {
      for (std::uint64_t in_flight = 1; in_flight <= (bound == 0 ? 1u : 2u); ++in_flight) {
        const bool complete = bound <= 1 && in_flight == 1;
        const std::size_t limit = complete ? 60'000 : 2'000;
        const JudgeRules rules{bound, drop, k, in_flight, uses, /*acts_first=*/true};
        const std::size_t found = Search({2, rules, limit});
        if (complete) {
          EXPECT_LT(found, limit) << "the search is not complete";
        }
        if (HasFatalFailure() || HasNonfatalFailure()) return;
      }
    }
  }
}

// The same with a delay: also fleets with more or fewer actors than it needs.
TEST(DelaySearch, NoFleetGoesOverItsDelayOrGetsStuck) {
  std::size_t states = 0;
  for (std::uint64_t delay = 0; delay <= 2; ++delay) {
    for (std::uint64_t k = 1; k <= 2; ++k) {
      for (std::uint64_t in_flight = 1; in_flight <= (delay == 0 ? 1u : 2u); ++in_flight) {
        for (std::uint32_t slots = 1; slots <= (in_flight == 1 && k == 1 ? 3u : 2u); ++slots) {
          constexpr std::size_t kLimit = 60'000;
          JudgeRules rules{.bound = delay, .gradients = k, .in_flight = in_flight, .delay = delay};
          const std::size_t found = Search({slots, rules, kLimit});
          EXPECT_LT(found, kLimit) << "the search is not complete";
          states += found;
          if (testing::Test::HasFailure()) return;
        }
      }
    }
  }
  EXPECT_GT(states, 1'000u);
}

INSTANTIATE_TEST_SUITE_P(Bounds, StalenessSearch,
                         testing::Combine(testing::Values(0, 1, 2, 3, kUnbounded),
                                          testing::Bool()));

}  // namespace
}  // namespace starling::learner
