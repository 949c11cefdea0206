// The loss and the advantages that it takes.
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
                        .policy = OneChoice(actions),
                        .logits = logits.data(),
                        .values = values.data(),
                        .samples = {.taken = taken.data(),
                                    .advantages = advantages.data(),
                                    .returns = returns.data()},
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

template <class T>
struct Rollout {
  int steps, envs;
  std::vector<T> rewards, values, bootstrap;
  std::vector<std::uint8_t> terminals;
  std::vector<T> advantages, returns;

  void Run(double gamma, double lambda) {
    advantages.assign(rewards.size(), NAN);
    returns.assign(rewards.size(), NAN);
    GeneralisedAdvantages<T>(
        {.shape = {.steps = steps, .envs = envs, .gamma = gamma, .lambda = lambda},
         .rewards = rewards.data(),
         .terminals = terminals.data(),
         .values = values.data(),
         .bootstrap = bootstrap.data(),
         .advantages = advantages.data(),
         .returns = returns.data()});
  }
  std::size_t At(int t, int env) const { return static_cast<std::size_t>(t * envs + env); }
  T ValueAt(int t, int env) const {
    return t == steps ? bootstrap[static_cast<std::size_t>(env)] : values[At(t, env)];
  }
};

Rollout<double> RandomRollout(RandomStream& random) {
  Rollout<double> r{Between(random, 1, 9), Between(random, 1, 5), {}, {}, {}, {}, {}, {}};
  const int size = r.steps * r.envs;
  r.rewards = Normals<double>(random, size);
  r.values = Normals<double>(random, size);
  r.bootstrap = Normals<double>(random, r.envs);
  r.terminals = testing::Cells<std::uint8_t>(random, size, 0.2);
  return r;
}

// The k-step return from step t of one env, its value bootstrapped unless the episode ended:
// r_t + gamma r_{t+1} + ... + gamma^k V_{t+k}.
double StepReturn(const Rollout<double>& r, int t, int env, int k, double gamma) {
  double sum = 0, weight = 1;
  for (int i = t; i < t + k; ++i, weight *= gamma) {
    sum += weight * r.rewards[r.At(i, env)];
    if (r.terminals[r.At(i, env)] != 0) return sum;
  }
  return sum + weight * r.ValueAt(t + k, env);
}

// The definition: k-step advantages averaged with weights (1 - lambda) lambda^(k-1), those beyond
// the end of the rollout, or of the episode, all being equal to the last.
double Advantage(const Rollout<double>& r, int t, int env, double gamma, double lambda) {
  double sum = 0, weight = 1 - lambda;
  for (int k = 1; k < r.steps - t; ++k, weight *= lambda) {
    sum += weight * StepReturn(r, t, env, k, gamma);
  }
  sum += std::pow(lambda, r.steps - t - 1) * StepReturn(r, t, env, r.steps - t, gamma);
  return sum - r.values[r.At(t, env)];
}

TEST(GeneralisedAdvantagesTest, IsTheWeightedMeanOfStepAdvantages) {
  RandomStream random(StreamId{.seed = 21});
  for (int trial = 0; trial < 100; ++trial) {
    Rollout<double> r = RandomRollout(random);
    const double gamma = 0.5 + 0.5 * random.UniformDouble();
    const double lambda = trial % 5 == 0   ? 0.0
                          : trial % 5 == 1 ? 1.0  // n-step returns
                                           : random.UniformDouble();
    r.Run(gamma, lambda);
    for (int t = 0; t < r.steps; ++t) {
      for (int env = 0; env < r.envs; ++env) {
        const double expected = Advantage(r, t, env, gamma, lambda);
        ASSERT_NEAR(r.advantages[r.At(t, env)], expected, 1e-12);
        ASSERT_NEAR(r.returns[r.At(t, env)], expected + r.values[r.At(t, env)], 1e-12);
      }
    }
  }
}

// One env, three steps, gamma 1/2, lambda 1/2, the episode ends with step 1.
//   delta = (1 + 2/2 - 4, 8 - 2, 3 + 6/2 - 1) = (-2, 6, 5)
//   A_2 = 5, A_1 = 6 (a terminal ends the sum), A_0 = -2 + 6/4 = -0.5
TEST(GeneralisedAdvantagesTest, ByHandWithATerminalInTheMiddle) {
  Rollout<float> r{3, 1, {1, 8, 3}, {4, 2, 1}, {6}, {0, 1, 0}, {}, {}};
  r.Run(0.5, 0.5);
  EXPECT_EQ(r.advantages, (std::vector<float>{-0.5f, 6, 5}));
  EXPECT_EQ(r.returns, (std::vector<float>{3.5f, 8, 6}));
  r.Run(0.5, 0);  // the deltas themselves
  EXPECT_EQ(r.advantages, (std::vector<float>{-2, 6, 5}));
  r.Run(0.5, 1);  // returns 1 + 8/2, 8, 3 + 6/2
  EXPECT_EQ(r.returns, (std::vector<float>{5, 8, 6}));
}

}  // namespace
}  // namespace starling::net
