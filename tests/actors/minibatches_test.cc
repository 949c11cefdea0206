// An unroll that gives several gradients.
#include "actors/minibatches.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "actors/rollout.h"
#include "tests/net/arrays.h"

namespace starling::actors {
namespace {

using net::testing::RelativeError;

struct Game {
  std::string name;
  std::vector<std::string> settings;
  bool remembers = false;
};
void PrintTo(const Game& game, std::ostream* out) { *out << game.name; }

const Game kGames[] = {
    {"Convolution", {"env.sticky_actions=0.3", "actors.unroll=5", "net.hidden=[24]"}},
    {"Memory",
     {"env.name=memory/recall", "net.layers=[\"linear 12\", \"relu\", \"lstm 8\"]", "net.hidden=[]",
      "actors.unroll=7"},
     true},
    {"GruAndCritic",
     {"env.name=memory/recall", "net.layers=[\"linear 12\", \"relu\", \"gru 8\"]", "net.hidden=[]",
      "actors.unroll=7", "net.critic=separate"},
     true},
    {"TimeLimit", {"env.name=dummy", "net.kind=mlp", "net.hidden=[12]", "env.time_limit=3"}},
};

Config Set(const Game& game, const std::vector<std::string>& more) {
  std::vector<std::string> all = {"actors.envs_per_actor=6", "optimizer.clip_norm=0"};
  all.insert(all.end(), game.settings.begin(), game.settings.end());
  all.insert(all.end(), more.begin(), more.end());
  return ParseConfig("", "test.toml", all);
}

// A rollout behind its third unroll, on drawn weights.
class Player {
 public:
  explicit Player(const Config& config) : rollout(config, 2, 1), gradient(rollout.layout().size()) {
    Draw(1);
    for (int unroll = 0; unroll < 3; ++unroll) rollout.Act();
  }
  void Draw(std::uint64_t seed, float scale = 0.1f) {
    RandomStream random({.seed = seed});
    for (float& weight : rollout.weights()) weight = scale * random.Normal();
  }
  std::vector<float> Gradient(std::uint64_t use) {
    last = rollout.Gradient(use, 0.02, gradient);
    return gradient;
  }
  Rollout rollout;
  std::vector<float> gradient;
  RolloutGradient last;
};

class MinibatchesTest : public testing::TestWithParam<Game> {};

// On the weights that played, every ratio is 1 and nothing is clipped.
TEST_P(MinibatchesTest, OfPpoOnTheSameWeightsAreThoseOfA2c) {
  Player a2c(Set(GetParam(), {})), ppo(Set(GetParam(), {"loss.kind=ppo", "loss.value_clip=0.5"}));
  EXPECT_FALSE(a2c.rollout.recomputes());
  EXPECT_TRUE(ppo.rollout.recomputes());
  EXPECT_LE(RelativeError(ppo.Gradient(0), a2c.Gradient(0)), 1e-5);
  EXPECT_EQ(ppo.last.samples, a2c.last.samples);
  EXPECT_NEAR(ppo.last.loss.value_loss, a2c.last.loss.value_loss, 1e-5);
  EXPECT_NEAR(ppo.last.loss.kl, 0, 1e-6);
  EXPECT_EQ(ppo.last.loss.clipped, 0);
}

// Each env is in one minibatch of an epoch: the mean of its gradients is that of the unroll.
TEST_P(MinibatchesTest, OfAnEpochAddUpToTheUnroll) {
  Player whole(Set(GetParam(), {}));
  Player parts(Set(GetParam(), {"updates.minibatches=3", "updates.epochs=2"}));
  const std::vector<float> expected = whole.Gradient(0);
  std::vector<std::vector<float>> gradients;
  for (std::uint64_t use = 0; use < 6; ++use) {
    EXPECT_EQ(parts.rollout.mid_unroll(), true);
    gradients.push_back(parts.Gradient(use));
    EXPECT_EQ(parts.last.samples * 3, whole.last.samples);
  }
  EXPECT_FALSE(parts.rollout.mid_unroll());
  for (const std::size_t epoch : {0u, 3u}) {
    std::vector<float> mean(expected.size());
    for (std::size_t i = 0; i < mean.size(); ++i) {
      for (std::size_t m = 0; m < 3; ++m) mean[i] += gradients[epoch + m][i] / 3;
    }
    EXPECT_LE(RelativeError(mean, expected), 1e-5);
  }
  EXPECT_NE(gradients[0], gradients[3]) << "each epoch divides the envs anew";
}

// Single samples: more minibatches than envs, each with its share of the samples.
TEST_P(MinibatchesTest, OfSamplesAddUpToTheUnrollToo) {
  if (GetParam().remembers) GTEST_SKIP() << "a memory goes through an unroll in order";
  Player whole(Set(GetParam(), {}));
  Player parts(
      Set(GetParam(), {"updates.minibatches=10", "updates.epochs=2", "updates.shuffle=samples"}));
  const std::vector<float> expected = whole.Gradient(0);
  std::vector<std::vector<float>> firsts;
  for (std::uint64_t use = 0; use < 20;) {
    std::vector<float> mean(expected.size());
    do {
      const std::vector<float> gradient = parts.Gradient(use);
      EXPECT_EQ(parts.last.samples * 10, whole.last.samples);
      for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += gradient[i] / 10;
      if (use % 10 == 0) firsts.push_back(gradient);
    } while (++use % 10 != 0);
    EXPECT_LE(RelativeError(mean, expected), 1e-5);
  }
  EXPECT_NE(firsts[0], firsts[1]) << "each epoch divides the samples anew";
}

// What is played does not depend on how often it is used.
TEST_P(MinibatchesTest, LeaveTheGamesAsTheyAre) {
  Player once(Set(GetParam(), {})), often(Set(GetParam(), {"updates.epochs=2"}));
  for (int unroll = 0; unroll < 4; ++unroll) {
    once.Draw(7);
    often.Draw(7);
    once.rollout.Act();
    often.rollout.Act();
    once.Gradient(0);
    for (const std::uint64_t use : {0u, 1u}) {
      often.Draw(40 + use);
      often.Gradient(use);
    }
    EXPECT_EQ(often.rollout.TakeEpisodes().ended, once.rollout.TakeEpisodes().ended);
  }
}

// Far from the policy that played, nearly every ratio is clipped; measured from the weights of the
// first gradient none is, until those change.
TEST_P(MinibatchesTest, DecoupledRatiosBeginAtTheFirstGradient) {
  const std::vector<std::string> ppo = {"loss.kind=ppo", "loss.clip=0.01", "updates.epochs=2"};
  std::vector<std::string> grant = ppo;
  grant.push_back("loss.proximal=grant");
  Player coupled(Set(GetParam(), ppo)), decoupled(Set(GetParam(), grant));
  for (Player* player : {&coupled, &decoupled}) player->Draw(8, 1.0f);
  coupled.Gradient(0);
  decoupled.Gradient(0);
  EXPECT_GT(coupled.last.loss.clipped, 0.5);
  EXPECT_EQ(decoupled.last.loss.clipped, 0);
  EXPECT_NEAR(decoupled.last.loss.kl, coupled.last.loss.kl, 1e-4 * coupled.last.loss.kl)
      << "measured from the policy that played";
  decoupled.Draw(9, 1.0f);
  decoupled.Gradient(1);
  EXPECT_GT(decoupled.last.loss.clipped, 0.5);
}

// Where every ratio is 1, PPO's policy loss is minus the mean of the advantages.
TEST_P(MinibatchesTest, NormalisedAdvantagesHaveMeanZero) {
  Player plain(Set(GetParam(), {"loss.kind=ppo"}));
  Player shifted(Set(GetParam(), {"loss.kind=ppo", "loss.normalize_advantage=true"}));
  plain.Gradient(0);
  shifted.Gradient(0);
  EXPECT_DOUBLE_EQ(shifted.last.loss.value_loss, plain.last.loss.value_loss);
  EXPECT_GT(std::abs(plain.last.loss.policy_loss), 1e-3);
  EXPECT_NEAR(shifted.last.loss.policy_loss, 0, 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Games, MinibatchesTest, testing::ValuesIn(kGames),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace starling::actors
