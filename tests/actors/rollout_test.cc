// The losses of an unroll, and its bootstrapping at the ends of episodes, in the env "dummy": doing
// nothing pays nothing, and the third number observed is the share of the eight steps still to
// come.
#include "actors/rollout.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/net/arrays.h"

namespace starling::actors {
namespace {

class RolloutTest : public ::testing::Test {
 protected:
  // A linear net that does nothing; its value is `share` times the share still to come plus `bias`.
  net::LossReport Losses(const std::vector<std::string>& overrides, float share, float bias) {
    std::vector<std::string> all = {
        "env.name=dummy",    "env.sticky_actions=0", "net.kind=mlp",           "net.hidden=[]",
        "loss.gae_lambda=1", "loss.gamma=1",         "actors.envs_per_actor=3"};
    all.insert(all.end(), overrides.begin(), overrides.end());
    Rollout rollout(ParseConfig("", "test.toml", all), 0, 1);
    const auto at = [&](const char* name) { return rollout.layout().Find(name).offset; };
    std::ranges::fill(rollout.weights(), 0.0f);
    rollout.weights()[at("policy.bias")] = 100;
    rollout.weights()[at("value.weight") + 2] = share;
    rollout.weights()[at("value.bias")] = bias;
    std::vector<float> gradient(rollout.layout().size());
    return rollout.Run(0.01, gradient).loss;
  }
};

// Eight steps, 0 behind them: V = 2 at each, the return 0.
TEST_F(RolloutTest, ATerminalStateIsWorthNothing) {
  EXPECT_FLOAT_EQ(static_cast<float>(Losses({"actors.unroll=8"}, 0, 2).value_loss), 4);
}

// Cut off after every step, behind which V = 2 again: the return is 0 + 0.5 * 2.
TEST_F(RolloutTest, AStateThatATimeLimitCutsOffIsWorthItsValue) {
  const auto loss = Losses({"actors.unroll=4", "env.time_limit=1", "loss.gamma=0.5"}, 0, 2);
  EXPECT_FLOAT_EQ(static_cast<float>(loss.value_loss), 1);
}

// V = 8 times the share: 8, 7 and, cut off, 6; the next episode begins with 8 again. So the returns
// are 6 and 6 and the errors 2 and 1. The unroll ends in the middle of an episode: 8, bootstrapped
// by 7.
TEST_F(RolloutTest, ItIsTheStateBeforeTheNextEpisode) {
  const auto loss = Losses({"actors.unroll=5", "env.time_limit=2"}, 8, 0);
  EXPECT_FLOAT_EQ(static_cast<float>(loss.value_loss), (4 + 1 + 4 + 1 + 1) / 5.0f);
}

// A learner removes an actor that is silent for seconds, however much it computes.
TEST(RolloutBeats, ComeBetweenTheLayersOfAGradientToo) {
  const std::vector<std::string> shared = {"env.name=memory/recall", "actors.envs_per_actor=4",
                                           "actors.unroll=3", "net.hidden=[]"};
  const auto beats = [&](std::vector<std::string> more) {
    more.insert(more.end(), shared.begin(), shared.end());
    int calls = 0;
    Rollout rollout(ParseConfig("", "test.toml", more), 0, 1, [&] { ++calls; });
    std::vector<float> gradient(rollout.layout().size());
    rollout.Act();
    calls = 0;
    rollout.Gradient(0, 0.01, gradient);
    return calls;
  };
  const std::string layers = "net.layers=[\"linear 4\", \"tanh\", \"linear 4\"]";
  EXPECT_EQ(beats({layers}), 3);
  EXPECT_EQ(beats({layers, "net.critic=separate"}), 6);
  const std::string memory = "net.layers=[\"lstm 4\"]";
  EXPECT_EQ(beats({memory, "loss.kind=ppo"}), 3 + 1) << "steps forward, a layer back";
  EXPECT_EQ(beats({memory, "loss.kind=ppo", "updates.minibatches=2", "loss.proximal=grant"}),
            2 * (3 + 1) + 3 + 1)
      << "first both minibatches forward";
}

Config InGroups(std::vector<std::string> settings, int groups) {
  settings.push_back("actors.groups=" + std::to_string(groups));
  return ParseConfig("", "test.toml", settings);
}

// Of every unroll: the gradient, the losses, and the envs and returns of episodes that ended.
struct Played {
  std::vector<std::vector<float>> gradients;
  std::vector<double> numbers;
};

Played Play(const Config& config) {
  Rollout rollout(config, 2, 1);
  RandomStream random({.seed = 7});
  for (float& weight : rollout.weights()) weight = 0.1f * random.Normal();
  Played played;
  for (int round = 0; round < 6; ++round) {
    std::vector<float> gradient(rollout.layout().size());
    const net::LossReport loss = rollout.Run(0.02, gradient).loss;
    played.gradients.push_back(std::move(gradient));
    auto ended = rollout.TakeEpisodes().ended;
    std::ranges::stable_sort(ended, {}, &envs::EpisodeEnd::env);
    for (const auto& end : ended) {
      played.numbers.insert(played.numbers.end(),
                            {static_cast<double>(end.env), end.episode_return});
    }
    played.numbers.insert(played.numbers.end(), {loss.policy_loss, loss.value_loss, loss.entropy});
  }
  return played;
}

// Products of fewer rows may add up in another order, so numbers may differ in their last bits.
TEST(RolloutGroups, PlayTheSameGamesAndMakeTheSameGradient) {
  const std::vector<std::string> games[] = {
      {"env.sticky_actions=0.3", "actors.unroll=9"},
      {"env.name=memory/recall", "net.layers=[\"linear 12\", \"relu\", \"lstm 8\"]",
       "net.hidden=[]", "actors.unroll=7"},
      {"env.name=dummy", "net.kind=mlp", "env.time_limit=3", "env.noop_max=2"},
      {"env.name=catch", "env.step_ms=50", "env.step_jitter=0.5"},
  };
  for (std::vector<std::string> settings : games) {
    SCOPED_TRACE(settings[0]);
    settings.insert(settings.begin(), {"actors.envs_per_actor=5", "net.hidden=[24]"});
    const Played whole = Play(InGroups(settings, 1));
    for (const int groups : {2, 3, 5}) {
      SCOPED_TRACE(groups);
      const Played parts = Play(InGroups(settings, groups));
      EXPECT_THAT(parts.numbers, testing::Pointwise(testing::DoubleNear(1e-5), whole.numbers));
      for (std::size_t i = 0; i < parts.gradients.size(); ++i) {
        EXPECT_LE(net::testing::RelativeError(parts.gradients[i], whole.gradients[i]), 1e-5) << i;
      }
    }
  }
}

// An env that notes who begins a step and who waits for one, a microsecond each time.
class Noted final : public envs::VecEnv {
 public:
  Noted(int group, std::vector<std::string>& notes) : name_(std::to_string(group)), notes_(notes) {}
  const envs::EnvSpec& spec() const override { return spec_; }
  int size() const override { return 1; }
  void Reset(std::span<float> observations) override { observations[0] = 0; }
  void StepAsync(std::span<const std::int32_t>) override { notes_.push_back("begin " + name_); }
  void StepWait(std::span<float> observations, std::span<float> rewards,
                std::span<std::uint8_t> terminals) override {
    notes_.push_back("wait " + name_);
    waited_ns_ += 1000;
    observations[0] = rewards[0] = 0;
    terminals[0] = 0;
  }
  void TakeEpisodes(std::vector<envs::EpisodeEnd>&) override {}
  std::int64_t waited_ns() const override { return waited_ns_; }

 private:
  const envs::EnvSpec spec_{
      .name = "noted", .actions = ActionSpace::Choice(2), .action_names = {"a", "b"}};
  const std::string name_;
  std::vector<std::string>& notes_;
  std::int64_t waited_ns_ = 0;
};

TEST(RolloutGroups, OneIsSteppedWhileTheNetWorksOnTheOther) {
  const Config config = InGroups({"net.kind=mlp", "actors.envs_per_actor=2", "actors.unroll=3"}, 2);
  std::vector<std::string> notes;
  EnvGroups groups;
  for (const int group : {0, 1}) groups.push_back(std::make_unique<Noted>(group, notes));
  Rollout rollout(config, 0, 1, MakeReplica(config, 0), std::move(groups));
  std::vector<float> gradient(rollout.layout().size());
  rollout.Run(0.01, gradient);
  EXPECT_THAT(notes, testing::ElementsAre("begin 0", "begin 1",                      //
                                          "wait 0", "begin 0", "wait 1", "begin 1",  //
                                          "wait 0", "begin 0", "wait 1", "begin 1",  //
                                          "wait 0", "wait 1"));
}

// Two groups wait three times each.
TEST(RolloutGroups, TimeOfWaitingIsThatOfAllGroupsInOneUnroll) {
  const Config config = InGroups({"net.kind=mlp", "actors.envs_per_actor=2", "actors.unroll=3"}, 2);
  std::vector<std::string> notes;
  EnvGroups groups;
  for (const int group : {0, 1}) groups.push_back(std::make_unique<Noted>(group, notes));
  Rollout rollout(config, 0, 1, MakeReplica(config, 0), std::move(groups));
  std::vector<float> gradient(rollout.layout().size());
  for (int run = 0; run < 2; ++run) EXPECT_EQ(rollout.Run(0.01, gradient).act_wait_us, 6u);
}

}  // namespace
}  // namespace starling::actors
