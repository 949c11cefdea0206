// Where a delay makes learning unstable, on the simplest of problems, with the judge and the
// optimizer that training uses.
//
// The loss w^2 / 2 has the gradient w, so with a delay d and a learning rate a
//   w(k + 1) = w(k) - a w(k - d)
// which goes to 0 if and only if 0 < a < 2 sin(pi / (2 (2 d + 1))) (Levin and May 1976). Without a
// delay that is 2, the edge of gradient descent; for a long one about pi / (2 d + 1).
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "learner/apply/optimizer.h"
#include "learner/staleness.h"

namespace starling::learner {
namespace {

double EdgeOf(std::uint64_t delay) {
  return 2 * std::sin(std::numbers::pi / (2 * (2 * static_cast<double>(delay) + 1)));
}

// Returns the largest |w| of the last updates that one actor with enough grants makes, from w = 1.
double LargestAtTheEnd(std::uint64_t delay, double lr) {
  constexpr std::uint64_t kUpdates = 40'000, kLast = 1'000;
  const OptimizerSpec sgd = MakeOptimizerSpec({.kind = OptimizerKind::kSgd});
  Judge judge({.bound = delay, .in_flight = delay + 1, .delay = delay}, 0);
  judge.Join(0);
  judge.Open();
  std::vector<float> weights(kGroup, 1.0f), gradient(kGroup);
  std::vector<float> of_version = {1.0f};  // w
  double largest = 0;
  while (of_version.size() <= kUpdates) {
    // 1. The oldest grant is spent on the weights of its version.
    const Grant grant = judge.state().outstanding.front();
    EXPECT_EQ(judge.Arrive(grant.slot, grant.number, grant.version, 0), Arrival::kHeld);
    // 2. Its update, if the judge finds one due.
    while (const auto update = judge.NextUpdate()) {
      gradient.assign(kGroup, of_version.at(update->gradients.front().base));
      ApplyUpdate(sgd, MakeStepSize(sgd, lr, 1, update->version), gradient, weights, {});
      of_version.push_back(weights.front());
      if (of_version.size() + kLast > kUpdates)
        largest = std::max<double>(largest, std::abs(weights.front()));
      if (!(std::abs(weights.front()) < 1e6)) return weights.front();
    }
  }
  return largest;
}

TEST(Stability, TheEdgeIsWhereTheoryPutsIt) {
  for (const std::uint64_t delay : {0, 1, 2, 4, 8, 16, 32}) {
    EXPECT_LT(LargestAtTheEnd(delay, 0.99 * EdgeOf(delay)), 0.1) << delay;
    EXPECT_GT(std::abs(LargestAtTheEnd(delay, 1.01 * EdgeOf(delay))), 10) << delay;
  }
}

TEST(Stability, TheEdgeOfALongDelayIsInverseToIt) {
  EXPECT_DOUBLE_EQ(EdgeOf(0), 2);
  EXPECT_NEAR(EdgeOf(1), 1, 1e-12);
  EXPECT_NEAR(EdgeOf(32) * 65, std::numbers::pi, 1e-3);
}

}  // namespace
}  // namespace starling::learner
