// Normalised observations and rewards: what actors push of their unrolls, and what the net gets.
#include "actors/normalizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "actors/player.h"
#include "actors/rollout.h"
#include "envs/registry.h"

namespace starling::actors {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatEq;

// The env dummy observes three numbers; the third is the share of the eight steps still to come.
Config Dummy(std::vector<std::string> settings) {
  settings.insert(settings.begin(),
                  {"env.name=dummy", "env.sticky_actions=0", "net.kind=mlp", "net.hidden=[]",
                   "actors.envs_per_actor=4", "actors.unroll=8", "loss.gae_lambda=1",
                   "loss.gamma=1", "env.normalize_observations=true"});
  return ParseConfig("", "test.toml", settings);
}

std::vector<std::string> NamesOf(const net::ParameterLayout& layout) {
  std::vector<std::string> names;
  for (const net::Parameter& parameter : layout.parameters()) names.push_back(parameter.name);
  return names;
}

net::ParameterLayout LayoutOf(const Config& config, const envs::EnvSpec& spec) {
  net::ParameterLayout net;
  net.Add("value.weight", {3, 1});
  return WithSums(std::move(net), config, spec);
}

// Plays an unroll of a net that does nothing, and returns its gradient.
class DoingNothing {
 public:
  explicit DoingNothing(const Config& config) : rollout_(config, 0, 1) {
    std::ranges::fill(rollout_.weights(), 0.0f);
    At("policy.bias")[0] = 100;
    gradient_.resize(rollout_.layout().size(), 9.0f);  // memory that another gradient was in
  }
  std::span<float> At(const char* name, std::size_t number = 0) {
    return rollout_.weights().subspan(rollout_.layout().Find(name).offset + number);
  }
  // The floats of a number in the last gradient, and its count, sum and sum of squares.
  std::span<const float> Floats(const char* name, std::size_t number = 0) const {
    const std::size_t at = rollout_.layout().Find(name).offset + number * net::kSumsOfNumber;
    return std::span(gradient_).subspan(at, net::kSumsOfNumber);
  }
  std::vector<float> Sums(const char* name, std::size_t number = 0) const {
    const auto floats = Floats(name, number);
    EXPECT_EQ(floats[3], 0);
    EXPECT_LT(std::abs(floats[net::kRest + 1]), 1e-6) << "what rounding leaves of it";
    return {floats.begin(), floats.begin() + 3};
  }
  net::LossReport Run() { return rollout_.Run(0.01, gradient_).loss; }
  void Gradient(std::uint64_t use) { rollout_.Gradient(use, 0.01, gradient_); }
  Rollout& rollout() { return rollout_; }

 private:
  Rollout rollout_;
  std::vector<float> gradient_;
};

TEST(WithSumsTest, TheyStandBehindTheNetAndNoGradientTrainsThem) {
  const Config config = Dummy({"env.normalize_rewards=true"});
  const net::ParameterLayout layout = LayoutOf(config, envs::SpecOf(config.env));
  EXPECT_THAT(NamesOf(layout), ElementsAre("value.weight", "observations.sums", "returns.sums"));
  EXPECT_EQ(layout.trained(), 16u);
  EXPECT_EQ(layout.size(), 16u + 32 + 16);
  EXPECT_EQ(layout.num_weights(), 3u);
  const std::vector<float> first = net::InitialParameters(layout, 1, Initialisation::kFanIn);
  EXPECT_THAT(std::span(first).last(48), ::testing::Each(0.0f));
}

TEST(WithSumsTest, PicturesHaveNone) {
  const Config config = Dummy({});
  envs::EnvSpec entries;
  entries.channels = 13;
  entries.entries = {{.name = "map", .height = 3, .width = 3}, {.name = "at", .channels = 4}};
  EXPECT_THAT(NamesOf(LayoutOf(config, entries)),
              ElementsAre("value.weight", "observations.1.at.sums"));
  envs::EnvSpec matrix;
  matrix.height = matrix.width = 2;
  matrix.low = -1;
  EXPECT_THAT(NamesOf(LayoutOf(config, matrix)), ElementsAre("value.weight", "observations.sums"))
      << "numbers, whatever their shape";
  envs::EnvSpec picture;
  picture.height = picture.width = 3;
  EXPECT_THAT(NamesOf(LayoutOf(config, picture)), ElementsAre("value.weight"));
}

// A picture of 2 x 2 cells with two channels, two numbers that were never seen, and a mask. Of the
// first channel, 1 0 0 0, the mean is 1/4 and the variance 3/16; the second is of one grey.
TEST(NormalizerTest, EachChannelOfAPictureIsStandardizedByItself) {
  const Config config = Dummy({});
  envs::EnvSpec spec;
  spec.channels = 10;
  spec.entries = {{.name = "map", .height = 2, .width = 2, .channels = 2},
                  {.name = "at", .channels = 2}};
  spec.actions.counts = {2};
  spec.actions.masked = true;
  const net::ParameterLayout layout = LayoutOf(config, spec);
  const auto backend = net::MakeReferenceBackend<float>();
  Normalizer normalizer(config, spec, layout, *backend, {.envs = 2, .steps = 1});
  std::ranges::copy(std::vector<float>{1, 0.3f, 0, 0.3f, 0, 0.3f, 0, 0.3f, 7, -5, 1, 0},
                    normalizer.rows().begin() + 12);
  std::vector<float> net(24, 99.0f);
  normalizer.Standardize(std::vector<float>(layout.size()), {.first = 1, .envs = 1}, net);
  const auto bright = FloatEq(std::sqrt(3.0f)), dark = FloatEq(-1 / std::sqrt(3.0f));
  EXPECT_THAT(std::span(net).last(12),
              ElementsAre(bright, 0, dark, 0, dark, 0, dark, 0, 7, -5, 1, 0));
  EXPECT_THAT(std::span(net).first(12), ::testing::Each(99.0f)) << "another environment's";
}

// The third number is 1, 7/8 ... 1/8: the sum is 4.5 and that of the squares 204 / 64.
TEST(NormalizerTest, AnActorPushesTheSumsOfItsUnrollPerSample) {
  DoingNothing actor(Dummy({}));
  for (int unroll = 0; unroll < 2; ++unroll) {  // the second begins with a row that was carried
    actor.Run();
    EXPECT_THAT(actor.Sums("observations.sums", 2),
                ElementsAre(FloatEq(1), FloatEq(4.5f / 8), FloatEq(204.0f / 64 / 8)));
    const auto left = actor.Sums("observations.sums", 0),
               right = actor.Sums("observations.sums", 1);
    EXPECT_FLOAT_EQ(left[1] + right[1], 1) << "one of two lights is on";
    EXPECT_FLOAT_EQ(left[1], left[2]);
    EXPECT_THAT(actor.Floats("observations.sums", 3), ::testing::Each(0.0f))
        << "the gap behind them";
  }
}

// The first may be refused: the learner adds those of the first that it accepts.
TEST(NormalizerTest, EachGradientOfAnUnrollHasThoseOfAllOfIt) {
  DoingNothing actor(Dummy({"loss.kind=ppo", "updates.epochs=2", "updates.minibatches=2"}));
  actor.rollout().Act();
  for (const std::uint64_t use : {0, 1, 2, 3}) {
    actor.Gradient(use);
    EXPECT_THAT(actor.Sums("observations.sums", 2),
                ElementsAre(FloatEq(2), FloatEq(4.5f / 4), FloatEq(204.0f / 64 / 4)))
        << "32 samples, divided by the 16 of gradient " << use;
  }
}

// One bright pixel of 400 lies almost 20 deviations above the mean.
TEST(NormalizerTest, PixelsAreClipped) {
  envs::EnvSpec spec;
  spec.height = spec.width = 20;
  const Config config = Dummy({});
  const net::ParameterLayout layout = LayoutOf(config, spec);
  const auto backend = net::MakeReferenceBackend<float>();
  Normalizer normalizer(config, spec, layout, *backend, {});
  std::ranges::fill(normalizer.rows(), 0.0f);
  normalizer.rows()[7] = 1;
  std::vector<float> net(400);
  normalizer.Standardize(std::vector<float>(layout.size()), {}, net);
  EXPECT_EQ(net[7], net::kMostStandard);
  EXPECT_NEAR(net[8], -std::sqrt(1.0f / 399), 1e-6f);
}

// A value of the third number alone. Its mean is 0.5 and its deviation 0.25, of five seen: at the
// share s the net gets 4 s - 2. All returns are 0, so the loss is the mean square of that.
TEST(NormalizerTest, TheNetGetsWhatTheStatisticsMakeOfARow) {
  DoingNothing actor(Dummy({}));
  const auto sums = actor.At("observations.sums", 2 * net::kSumsOfNumber);
  sums[0] = 5;
  sums[1] = 5 * 0.5f;
  sums[2] = 5 * (0.25f + 0.0625f);
  actor.At("value.weight")[2] = 1;
  double square = 0;
  for (int left = 1; left <= 8; ++left) square += std::pow(4 * left / 8.0 - 2, 2) / 8;
  for (int unroll = 0; unroll < 2; ++unroll) {
    EXPECT_NEAR(actor.Run().value_loss, square, 1e-5);
    EXPECT_FLOAT_EQ(actor.Sums("observations.sums", 2)[1], 4.5f / 8) << "of what was observed";
  }
}

// Cut off after two steps: behind them lies the share 6/8, which the net gets as 1. So both returns
// are 1, the values 2 and 1.5.
TEST(NormalizerTest, TheStateBehindATimeLimitIsARowLikeOthers) {
  DoingNothing actor(Dummy({"env.time_limit=2", "actors.unroll=2"}));
  const auto sums = actor.At("observations.sums", 2 * net::kSumsOfNumber);
  sums[0] = 5;
  sums[1] = 5 * 0.5f;
  sums[2] = 5 * (0.25f + 0.0625f);
  actor.At("value.weight")[2] = 1;
  EXPECT_NEAR(actor.Run().value_loss, (1 + 0.25) / 2, 1e-5);
}

TEST(NormalizerTest, NothingSeenChangesNothing) {
  const auto loss = [](const char* normalized) {
    DoingNothing actor(Dummy({std::string("env.normalize_observations=") + normalized}));
    actor.At("value.weight")[2] = 1;
    return actor.Run().value_loss;
  };
  EXPECT_EQ(loss("true"), loss("false"));
}

// In the game of Catch a reward, 1 or -1, ends the episode: so the discounted returns are 0 but for
// the steps that end one, and their squares count these.
TEST(NormalizerTest, ReturnsAreDiscountedWithinEpisodes) {
  const Config config = ParseConfig(
      "", "test.toml",
      {"env.name=catch", "env.sticky_actions=0", "actors.envs_per_actor=4", "actors.unroll=30",
       "net.hidden=[]", "net.kind=mlp", "env.normalize_rewards=true", "loss.gamma=0.9"});
  DoingNothing actor(config);
  actor.Run();
  const auto ended = actor.rollout().TakeEpisodes().ended;
  double sum = 0;
  for (const envs::EpisodeEnd& end : ended) sum += end.episode_return;
  ASSERT_GT(ended.size(), 4u);
  EXPECT_THAT(actor.Sums("returns.sums"),
              ElementsAre(FloatEq(1), FloatEq(static_cast<float>(sum) / 120),
                          FloatEq(static_cast<float>(ended.size()) / 120)));
}

// Both lights pay by chance: with gamma 1 the discounted return counts the rewards of an episode so
// far, also of those that began in the unroll before. A value of nothing: the loss is the mean
// square of the returns, in units of a deviation of 4.
TEST(NormalizerTest, RewardsAreDividedByTheDeviationOfReturns) {
  const auto run = [](bool scaled, std::vector<float>& sums) {
    DoingNothing actor(Dummy({"env.normalize_observations=false", "env.normalize_rewards=true",
                              "actors.unroll=5", "actors.envs_per_actor=64"}));
    actor.At("policy.bias")[1] = 100;  // left, or nothing
    if (scaled) {
      const auto of_returns = actor.At("returns.sums");
      of_returns[0] = 10;
      of_returns[2] = 160;
    }
    actor.Run();
    const double loss = actor.Run().value_loss;
    sums = actor.Sums("returns.sums");
    return loss;
  };
  std::vector<float> plain, scaled;
  const double before = run(false, plain), after = run(true, scaled);
  EXPECT_EQ(plain, scaled) << "the sums are those of rewards as they were given";
  EXPECT_GT(plain[1], 0.5f);
  EXPECT_NEAR(after, before / 16, 1e-4 * before);
}

// The likeliest action of a policy that goes by the standardized share: left while more than the
// mean is to come.
TEST(NormalizerTest, APlayerNormalizesToo) {
  const Config config = Dummy({});
  const auto returns_with = [&](float mean) {
    const auto env = envs::MakeVecEnv(config.env, 64, {3, kPlayerSlot, 0});
    DoingNothing net(config);  // for its layout
    std::ranges::fill(net.rollout().weights(), 0.0f);
    net.At("policy.weight")[2 * 3 + 1] = 1;  // (3, actions): the share speaks for left
    const auto sums = net.At("observations.sums", 2 * net::kSumsOfNumber);
    sums[0] = 1;
    sums[1] = mean;
    sums[2] = mean * mean + 1;
    actors::Player player(config, net.rollout().weights(), *env, 3, /*greedy=*/true);
    std::vector<envs::EpisodeEnd> ended;
    for (int step = 0; step < 8; ++step) player.Step(ended);
    double sum = 0;
    for (const envs::EpisodeEnd& end : ended) sum += end.episode_return;
    return sum / 64;
  };
  EXPECT_NEAR(returns_with(2), 0, 1e-6) << "always nothing";
  EXPECT_NEAR(returns_with(-2), 4, 0.8) << "always left";
  EXPECT_NEAR(returns_with(0.55f), 2, 0.7) << "left in half of the steps";
}

}  // namespace
}  // namespace starling::actors
