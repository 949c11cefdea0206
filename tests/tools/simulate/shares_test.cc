// Whose gradients a fleet of unequal actors applies: waiting for the slow one, or dropping it.
//
// Of N actors one is f times slower than the others, each with one grant. While it computes, the
// others make (N - 1) f updates, unless they must wait. The share of the slow actor in the applied
// gradients is
//   without a bound       1 / (1 + (N - 1) f), that of its speed
//   wait at a bound b     1 / max(N, b + 1) if that is more: b updates come before its own, or, if
//                         that is fewer than N - 1, one gradient of each other actor
//   drop at a bound b     none: it is always too old, unless b >= (N - 1) f
#include <gmock/gmock.h>

#include "tests/tools/simulate/small_fleet.h"

namespace starling::simulate {
namespace {

struct Shares {
  double slow = 0;   // of the applied gradients
  double steps = 0;  // a virtual millisecond
};

Shares SharesOf(const std::vector<std::string>& settings) {
  std::vector<std::string> all = settings;
  all.insert(all.end(), {"actors.count=4", "updates.in_flight=1", "simulate.stragglers=1",
                         "simulate.straggler_factor=6", "simulate.apply_ms=0.01",
                         "simulate.compute_spread=0.05"});
  const SmallFleet fleet(3'000, all);
  double slow = 0, gradients = 0;
  for (const auto& update : fleet.Journal<learner::UpdateRecord>()) {
    for (const auto& item : update.items) {
      slow += item.slot == 0 ? 1 : 0;
      ++gradients;
    }
  }
  return {slow / gradients, gradients * kSamples / fleet.published_ms.back()};
}

TEST(SharesOfGradients, WithoutABoundTheyAreThoseOfTheSpeeds) {
  EXPECT_NEAR(SharesOf({}).slow, 1.0 / 19, 0.003);
}

TEST(SharesOfGradients, WaitingIsFairAtAPrice) {
  double steps = 0;
  for (const auto& [bound, share] : {std::pair{0, 4}, {2, 4}, {4, 5}, {8, 9}, {12, 13}}) {
    const Shares shares = SharesOf({"staleness.bound=" + std::to_string(bound)});
    EXPECT_NEAR(shares.slow, 1.0 / share, 0.005) << bound;
    if (bound >= 4) {
      EXPECT_GT(shares.steps, steps) << bound;
    }
    steps = shares.steps;
  }
  EXPECT_LT(steps, SharesOf({}).steps);
}

TEST(SharesOfGradients, DroppingKeepsTheSpeedAndLosesTheSlow) {
  const Shares without = SharesOf({}),
               drop = SharesOf({"staleness.bound=8", "staleness.on_exceed=drop"});
  EXPECT_LT(drop.slow, 0.001);
  EXPECT_NEAR(drop.steps, without.steps * 18 / 19, 0.02 * without.steps);
  EXPECT_NEAR(SharesOf({"staleness.bound=24", "staleness.on_exceed=drop"}).slow, 1.0 / 19, 0.003);
}

}  // namespace
}  // namespace starling::simulate
