#include "net/loss.h"

#include <cmath>
#include <limits>

#include "tests/net/arrays.h"

namespace starling::net {
namespace {

using testing::Between;
using testing::Normals;

template <class T>
struct LossCase {
  int n, actions;
  std::vector<T> logits, values, advantages, returns;
  std::vector<std::int32_t> taken;
  std::vector<T> dlogits, dvalues;
  LossReport report;

  void Run(const LossWeights& weights) {
    dlogits.assign(logits.size(), NAN);
    dvalues.assign(values.size(), NAN);
    ActorCriticLoss<T>({.n = n,
                        .actions = actions,
                        .logits = logits.data(),
                        .values = values.data(),
                        .taken = taken.data(),
                        .advantages = advantages.data(),
                        .returns = returns.data(),
                        .weights = &weights,
                        .dlogits = dlogits.data(),
                        .dvalues = dvalues.data(),
                        .report = &report});
  }
};

LossCase<double> RandomCase(RandomStream& random) {
  LossCase<double> b{Between(random, 1, 6), Between(random, 1, 7), {}, {}, {}, {}, {}, {}, {}, {}};
  b.logits = Normals<double>(random, b.n * b.actions, 2.0);
  b.values = Normals<double>(random, b.n);
  b.advantages = Normals<double>(random, b.n);
  b.returns = Normals<double>(random, b.n);
  for (int i = 0; i < b.n; ++i) b.taken.push_back(Between(random, 0, b.actions - 1));
  return b;
}

TEST(ActorCriticLossTest, GradientIsThatOfTheReportedTerms) {
  RandomStream random(StreamId{.seed = 31});
  for (int trial = 0; trial < 60; ++trial) {
    LossCase<double> b = RandomCase(random);
    const LossWeights weights{.value_coef = random.UniformDouble(),
                              .entropy = random.UniformDouble(),
                              .scale = 1 + 4 * random.UniformDouble()};
    b.Run(weights);
    const std::vector<double> dlogits = b.dlogits, dvalues = b.dvalues;
    const auto loss = [&] {
      b.Run(weights);
      return weights.scale * (b.report.policy_loss + weights.value_coef * b.report.value_loss -
                              weights.entropy * b.report.entropy);
    };
    testing::ExpectGradient("dlogits", b.logits, dlogits, loss);
    testing::ExpectGradient("dvalues", b.values, dvalues, loss);
  }
}

// logits (0, ln 3): p = (1/4, 3/4), H = ln 4 - (3/4) ln 3. Advantage 2 on action 0, value 1, return
// 4, weights 1/2 and 0.
//   policy loss = 2 ln 4, value loss = 9, dlogits = 2 (1/4 - 1, 3/4), dvalue = 2 * (1/2) * (1 - 4)
TEST(ActorCriticLossTest, ByHand) {
  LossCase<double> b{1, 2, {0, std::log(3.0)}, {1}, {2}, {4}, {0}, {}, {}, {}};
  b.Run({.value_coef = 0.5, .entropy = 0});
  EXPECT_NEAR(b.report.policy_loss, 2 * std::log(4.0), 1e-14);
  EXPECT_NEAR(b.report.value_loss, 9, 1e-14);
  EXPECT_NEAR(b.report.entropy, std::log(4.0) - 0.75 * std::log(3.0), 1e-14);
  EXPECT_NEAR(b.dlogits[0], -1.5, 1e-14);
  EXPECT_NEAR(b.dlogits[1], 1.5, 1e-14);
  EXPECT_NEAR(b.dvalues[0], -3, 1e-14);
}

// -log p of an action that is 2000 nats behind is 2000, though its probability is no float.
TEST(ActorCriticLossTest, HugeLogitsStayFinite) {
  LossCase<float> b{2,  3, {1000, -1000, 0, -1e37f, 1e37f, 0}, {0, 0}, {1, 1}, {0, 0}, {1, 1}, {},
                    {}, {}};
  b.Run({.value_coef = 0.5, .entropy = 0.1});
  EXPECT_NEAR(b.report.policy_loss, (2000.0 + 0.0) / 2, 1e-3);
  EXPECT_EQ(b.report.entropy, 0.0);
  EXPECT_FLOAT_EQ(b.dlogits[0], 0.5f);   // p = 1, not taken
  EXPECT_FLOAT_EQ(b.dlogits[1], -0.5f);  // p = 0, taken
  for (const float d : b.dlogits) EXPECT_TRUE(std::isfinite(d));
}

}  // namespace
}  // namespace starling::net
