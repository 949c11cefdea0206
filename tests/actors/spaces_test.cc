// Rollouts and players with every space of actions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "actors/player.h"
#include "actors/rollout.h"
#include "envs/registry.h"

namespace starling::actors {
namespace {

// A game behind whose observations stands a mask; it keeps the actions that it is asked for.
class MaskedEnv final : public envs::VecEnv {
 public:
  MaskedEnv(std::unique_ptr<envs::VecEnv> game, std::vector<float> mask)
      : game_(std::move(game)), mask_(std::move(mask)), spec_(game_->spec()) {
    spec_.actions.masked = true;
    seen_.resize(static_cast<std::size_t>(size()) * game_->spec().row());
  }
  const envs::EnvSpec& spec() const override { return spec_; }
  int size() const override { return game_->size(); }
  void Reset(std::span<float> observations) override {
    game_->Reset(seen_);
    Show(observations);
  }
  void StepAsync(std::span<const std::int32_t> actions) override {
    taken.insert(taken.end(), actions.begin(), actions.end());
    game_->StepAsync(actions);
  }
  void StepWait(std::span<float> observations, std::span<float> rewards,
                std::span<std::uint8_t> terminals) override {
    game_->StepWait(seen_, rewards, terminals);
    Show(observations);
  }
  void TakeEpisodes(std::vector<envs::EpisodeEnd>& out) override { game_->TakeEpisodes(out); }

  std::vector<std::int32_t> taken;

 private:
  void Show(std::span<float> out) {
    const std::size_t row = game_->spec().row();
    for (std::size_t i = 0; i < static_cast<std::size_t>(size()); ++i) {
      const auto to = out.subspan(i * spec_.row(), spec_.row());
      std::copy_n(seen_.begin() + static_cast<std::ptrdiff_t>(i * row), row, to.begin());
      std::ranges::copy(mask_, to.last(mask_.size()).begin());
    }
  }

  std::unique_ptr<envs::VecEnv> game_;
  const std::vector<float> mask_;
  envs::EnvSpec spec_;
  std::vector<float> seen_;
};

// A game that says of its numbers that they are several arrays.
class EntriesEnv final : public envs::VecEnv {
 public:
  EntriesEnv(std::unique_ptr<envs::VecEnv> game, std::vector<ObservationEntry> entries)
      : game_(std::move(game)), spec_(game_->spec()) {
    spec_.entries = std::move(entries);
  }
  const envs::EnvSpec& spec() const override { return spec_; }
  int size() const override { return game_->size(); }
  void Reset(std::span<float> observations) override { game_->Reset(observations); }
  void StepAsync(std::span<const std::int32_t> actions) override { game_->StepAsync(actions); }
  void StepWait(std::span<float> observations, std::span<float> rewards,
                std::span<std::uint8_t> terminals) override {
    game_->StepWait(observations, rewards, terminals);
  }
  void TakeEpisodes(std::vector<envs::EpisodeEnd>& out) override { game_->TakeEpisodes(out); }

 private:
  std::unique_ptr<envs::VecEnv> game_;
  envs::EnvSpec spec_;
};

Config Catch(std::vector<std::string> settings) {
  settings.insert(settings.begin(),
                  {"env.name=catch", "actors.envs_per_actor=4", "net.hidden=[24]"});
  return ParseConfig("", "test.toml", settings);
}

std::unique_ptr<envs::VecEnv> Game(const Config& config) {
  return envs::MakeVecEnv(config.env, 4, {config.run.seed, 0, 1});
}

// The gradients of three unrolls on random weights.
std::vector<std::vector<float>> Gradients(const Config& config, std::unique_ptr<envs::VecEnv> env) {
  EnvGroups groups;
  groups.push_back(std::move(env));
  Rollout rollout(config, 0, 1, MakeReplica(config, 0), std::move(groups));
  RandomStream random({.seed = 7});
  for (float& weight : rollout.weights()) weight = 0.2f * random.Normal();
  std::vector<std::vector<float>> gradients;
  for (int round = 0; round < 3; ++round) {
    rollout.Act();
    for (std::uint64_t use = 0; use < static_cast<std::uint64_t>(config.gradients_per_unroll());
         ++use) {
      gradients.emplace_back(rollout.layout().size());
      rollout.Gradient(use, 0.02, gradients.back());
    }
  }
  return gradients;
}

const std::vector<std::vector<std::string>> kWays{
    {},
    {"net.critic=separate"},
    {"net.layers=[\"linear 8\", \"gru 8\"]", "net.hidden=[]"},
    {"loss.kind=ppo", "updates.epochs=2", "updates.minibatches=2"},
    {"loss.kind=ppo", "updates.minibatches=2", "loss.proximal=grant", "net.hidden=[]",
     "net.layers=[\"linear 8\", \"lstm 8\"]"},
};

TEST(MasksTest, OneThatForbidsNothingChangesNoBit) {
  for (const auto& way : kWays) {
    const Config config = Catch(way);
    const auto plain = Gradients(config, Game(config));
    const auto masked =
        Gradients(config, std::make_unique<MaskedEnv>(Game(config), std::vector<float>{1, 1, 1}));
    EXPECT_EQ(masked, plain) << testing::PrintToString(way);
  }
}

// Value 1 of three is forbidden: it is never taken, and its weights get no gradient.
TEST(MasksTest, WhatIsForbiddenIsNeitherTakenNorLearned) {
  for (const auto& way : kWays) {
    const Config config = Catch(way);
    auto env = std::make_unique<MaskedEnv>(Game(config), std::vector<float>{1, 0, 1});
    MaskedEnv& seen = *env;
    EnvGroups groups;
    groups.push_back(std::move(env));
    Rollout rollout(config, 0, 1, MakeReplica(config, 0), std::move(groups));
    RandomStream random({.seed = 7});
    for (float& weight : rollout.weights()) weight = 0.2f * random.Normal();
    const std::size_t bias = rollout.layout().Find("policy.bias").offset;
    rollout.weights()[bias + 1] = 50;
    rollout.Act();
    std::vector<float> gradient(rollout.layout().size());
    rollout.Gradient(0, 0.02, gradient);
    EXPECT_THAT(seen.taken, testing::Each(testing::AnyOf(0, 2)));
    EXPECT_EQ(gradient[bias + 1], 0);
    EXPECT_NE(gradient[bias], 0);
  }
}

TEST(MasksTest, PlayersTakeWhatIsAllowed) {
  const Config config = Catch({});
  MaskedEnv random_env(Game(config), {1, 0, 1});
  Player at_random(random_env, 3);
  std::vector<envs::EpisodeEnd> ended;
  for (int step = 0; step < 20; ++step) at_random.Step(ended);
  EXPECT_THAT(random_env.taken, testing::Each(testing::AnyOf(0, 2)));
  for (const bool greedy : {false, true}) {
    MaskedEnv env(Game(config), {1, 0, 1});
    const Rollout rollout(config, 0, 1);
    std::vector<float> weights(rollout.layout().size());
    weights[rollout.layout().Find("policy.bias").offset + 1] = 50;
    Player player(config, weights, env, 3, greedy);
    for (int step = 0; step < 20; ++step) player.Step(ended);
    EXPECT_THAT(env.taken, testing::Each(testing::AnyOf(0, 2)));
  }
}

// ---- several arrays that are observed together

TEST(EntriesOfEnvTest, RowsThatPassAsTheyAreChangeNoBit) {
  for (auto way : kWays) {
    way.insert(way.begin(), {"env.name=control/reach", "actors.envs_per_actor=4"});
    if (!std::ranges::any_of(way, [](const auto& s) { return s.starts_with("net.layers"); })) {
      way.emplace_back("net.kind=mlp");
    }
    const Config config = ParseConfig("", "test.toml", way);
    std::vector<ObservationEntry> numbers{{"position", 1, 1, 2}, {"velocity", 1, 1, 2}};
    for (const char* name : {"x", "y", "time"}) numbers.push_back({.name = name});
    EXPECT_EQ(Gradients(config, std::make_unique<EntriesEnv>(Game(config), numbers)),
              Gradients(config, Game(config)))
        << testing::PrintToString(way);
  }
}

// ---- bundled games with several choices, with a box, and with several arrays

// A rollout that is saved and restored goes on to the same bits; so does one in another's place.
TEST(SpacesTest, ARestoredRolloutGoesOnToTheSameBits) {
  const std::vector<std::string> games[] = {
      {"env.name=control/reach"},
      {"env.name=control/reach", "env.action_bounds=tanh", "net.deviation=predicted",
       "env.sticky_actions=0.3"},
      {"env.name=control/reach", "env.time_limit=7", "env.repeat=2"},
      {"env.name=control/steer"},
      {"env.name=control/steer", "env.time_limit=7"},
      {"env.name=grid/courier", "net.entries=[\"map: conv 4 3x3, relu\", \"time: tanh\"]"},
  };
  for (const auto& game : games) {
    for (const auto& way : kWays) {
      std::vector<std::string> settings{"net.kind=mlp"};
      settings.insert(settings.end(), game.begin(), game.end());
      settings.insert(settings.end(), way.begin(), way.end());
      if (std::ranges::any_of(way,
                              [](const std::string& s) { return s.starts_with("net.layers"); })) {
        settings[0] = "net.kind=layers";
      }
      SCOPED_TRACE(testing::PrintToString(settings));
      const Config config = ParseConfig("", "test.toml", settings);
      Rollout first(config, 0, 1), second(config, 1, 2);
      RandomStream random({.seed = 7});
      for (float& weight : first.weights()) weight = 0.2f * random.Normal();
      std::ranges::copy(first.weights(), second.weights().begin());
      first.Act();
      std::vector<std::byte> state;
      first.Save(state);
      second.Restore(state);
      std::vector<float> gradient(first.layout().size()), other(gradient.size());
      for (int round = 0; round < 3; ++round) {
        first.Act();
        second.Act();
        for (std::uint64_t use = 0; use < static_cast<std::uint64_t>(config.gradients_per_unroll());
             ++use) {
          first.Gradient(use, 0.01, gradient);
          second.Gradient(use, 0.01, other);
          EXPECT_EQ(gradient, other);
        }
      }
      EXPECT_GT(std::ranges::count_if(gradient, [](float g) { return g != 0; }), 10);
    }
  }
}

}  // namespace
}  // namespace starling::actors
