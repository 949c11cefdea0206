// The learning rule without processes or sockets: one rollout, one optimizer, strictly in turn.
#include <gtest/gtest.h>

#include <numeric>

#include "actors/evaluator.h"
#include "actors/rollout.h"
#include "core/config/config.h"
#include "learner/apply/optimizer.h"
#include "learner/apply/schedule.h"
#include "net/model.h"

namespace starling {
namespace {

struct Trained {
  std::vector<float> weights;
  double mean_return = 0;  // of the last 100 training episodes
};

Trained TrainInOneProcess(const Config& config) {
  actors::Rollout rollout(config, 0, 0);
  std::vector<float> weights = net::InitialParameters(rollout.layout(), config.run.seed);
  const auto spec = learner::MakeOptimizerSpec(config.optimizer);
  std::vector<float> space(weights.size());
  std::vector<std::vector<float>> slots(spec.slots.size(), std::vector<float>(weights.size()));
  const std::vector<std::span<float>> state(slots.begin(), slots.end());
  std::vector<double> returns;
  std::uint64_t steps = 0, updates = 0;
  while (steps < config.run.steps) {
    std::ranges::copy(weights, rollout.weights().begin());
    rollout.Act();
    const auto of_unroll = static_cast<std::uint64_t>(config.samples_per_unroll());
    for (std::int64_t use = 0; use < config.gradients_per_unroll(); ++use) {
      if (use > 0) std::ranges::copy(weights, rollout.weights().begin());
      const auto gradient =
          rollout.Gradient(static_cast<std::uint64_t>(use),
                           learner::EntropyCoef(config.loss, config.run.steps, steps), space);
      const double lr = learner::LearningRate(config.optimizer, config.run.steps, steps, of_unroll);
      learner::ApplyUpdate(spec, learner::MakeStepSize(spec, lr, 1, ++updates), gradient.values,
                           weights, state);
    }
    steps += of_unroll;
    for (const auto& end : rollout.TakeEpisodes().ended) returns.push_back(end.episode_return);
  }
  Trained trained{.weights = weights};
  const std::size_t n = std::min<std::size_t>(100, returns.size());
  trained.mean_return =
      std::accumulate(returns.end() - static_cast<std::ptrdiff_t>(n), returns.end(), 0.0) /
      static_cast<double>(n);
  return trained;
}

Config ShippedConfig(const std::string& name, const std::vector<std::string>& overrides) {
  return LoadConfig(std::string(STARLING_SOURCE_DIR) + "/configs/" + name, overrides);
}

TEST(Learning, CatchIsSolved) {
  const Config config = ShippedConfig("catch.toml", {});
  const Trained trained = TrainInOneProcess(config);
  EXPECT_GT(trained.mean_return, 0.9);  // +1 caught, -1 missed
  EXPECT_GT(actors::Evaluate(config, trained.weights, {.episodes = 100}).mean, 0.9);
}

// With a quarter of the steps: each is used four times.
TEST(Learning, CatchIsSolvedByPpoOnFewerSteps) {
  const Config whole = ShippedConfig("catch.toml", {});
  const Config config =
      ShippedConfig("catch.toml", {"run.steps=" + std::to_string(whole.run.steps / 4),
                                   "loss.kind=ppo", "updates.epochs=4", "updates.minibatches=2",
                                   "loss.normalize_advantage=true", "loss.proximal=grant"});
  const Trained trained = TrainInOneProcess(config);
  EXPECT_GT(trained.mean_return, 0.9);
  EXPECT_GT(actors::Evaluate(config, trained.weights, {.episodes = 100}).mean, 0.9);
}

// Doing nothing gets -65, a rule by hand -6.
TEST(Learning, ACraftIsPushedToItsTarget) {
  for (const auto& settings : std::vector<std::vector<std::string>>{
           {"name=reach"},
           {"name=reach", "env.action_bounds=tanh", "net.deviation=predicted", "loss.kind=ppo",
            "updates.epochs=2", "updates.minibatches=2"},
           {"name=steer"}}) {
    SCOPED_TRACE(testing::PrintToString(settings));
    std::vector<std::string> overrides{"run.steps=150000"};
    overrides.insert(overrides.end(), settings.begin() + 1, settings.end());
    const Config config = ShippedConfig(settings[0].substr(5) + ".toml", overrides);
    const Trained trained = TrainInOneProcess(config);
    EXPECT_GT(trained.mean_return, -15);
    EXPECT_GT(actors::Evaluate(config, trained.weights, {.episodes = 100, .greedy = true}).mean,
              -12);
  }
}

TEST(Learning, CatchIsSolvedByAdamWithAWarmUp) {
  const Config config = ShippedConfig(
      "catch.toml",
      {"optimizer.kind=adam", "optimizer.warmup_steps=5000", "loss.entropy_schedule=exponential"});
  EXPECT_GT(TrainInOneProcess(config).mean_return, 0.9);
}

TEST(Learning, AnUntrainedNetDoesNotSolveCatch) {
  const Config config = ShippedConfig("catch.toml", {});
  const actors::Rollout rollout(config, 0, 0);
  const auto weights = net::InitialParameters(rollout.layout(), config.run.seed);
  EXPECT_LT(actors::Evaluate(config, weights, {.episodes = 100}).mean, 0.5);
}

TEST(Learning, BreakoutLeavesChanceBehind) {
  // Random play scores about 0.4; 200 000 steps with the shipped constants are enough to see
  // learning.
  const Config config = ShippedConfig("breakout.toml", {"run.steps=200000"});
  const Trained trained = TrainInOneProcess(config);
  EXPECT_GT(actors::Evaluate(config, trained.weights, {.episodes = 100}).mean, 2.0);
}

// Chance is 1/4: the same net without its memory, with the same budget, stays there.
TEST(Learning, OnlyAMemoryRecalls) {
  const Config config = ShippedConfig("recall.toml", {});
  const Trained trained = TrainInOneProcess(config);
  EXPECT_GT(actors::Evaluate(config, trained.weights, {.episodes = 100}).mean, 0.95);

  const Config without = ShippedConfig("recall.toml", {"net.layers=[\"linear 32\", \"relu\"]"});
  const Trained forgetful = TrainInOneProcess(without);
  const double mean = actors::Evaluate(without, forgetful.weights, {.episodes = 400}).mean;
  EXPECT_GT(mean, 0.15);
  EXPECT_LT(mean, 0.35);
}

TEST(Learning, TheSameSeedGivesTheSameBits) {
  const Config config = ShippedConfig("breakout.toml", {"run.steps=3200"});
  EXPECT_EQ(TrainInOneProcess(config).weights, TrainInOneProcess(config).weights);
  const Config other = ShippedConfig("breakout.toml", {"run.steps=3200", "run.seed=2"});
  EXPECT_NE(TrainInOneProcess(config).weights, TrainInOneProcess(other).weights);
}

}  // namespace
}  // namespace starling
