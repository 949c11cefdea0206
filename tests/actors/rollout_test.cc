// The losses of an unroll, and its bootstrapping at the ends of episodes, in the env "dummy": doing
// nothing pays nothing, and the third number observed is the share of the eight steps still to
// come.
#include "actors/rollout.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace starling::actors
