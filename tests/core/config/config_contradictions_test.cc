// Keys that cannot stand together.
#include "core/config/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/config/config_mistakes.h"

namespace starling {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

TEST(Config, ContradictionsNameBothKeys) {
  EXPECT_THAT(Mistakes("[updates]\nin_flight = 2\n[staleness]\nbound = 0\n"),
              ElementsAre(AllOf(StartsWith("x.toml:2:13: updates.in_flight = 2"),
                                HasSubstr("staleness.bound = 0"))));
  EXPECT_THAT(Mistakes("[actors]\ncount = 2\n[updates]\nstart_with = 3\n"),
              ElementsAre(AllOf(StartsWith("x.toml:4:14: updates.start_with = 3"),
                                HasSubstr("actors.count = 2"))));
  EXPECT_THAT(
      Mistakes("[actors]\ncount = 2\n[updates]\ngradients = 5\nin_flight = 2\n"),
      ElementsAre(AllOf(StartsWith("x.toml:4:13: updates.gradients = 5"),
                        HasSubstr("actors.count = 2"), HasSubstr("updates.in_flight = 2"))));
  EXPECT_THAT(Mistakes("[net]\nhidden = [64, 64]\n"),
              ElementsAre(AllOf(StartsWith("x.toml:2:10: net.hidden"), HasSubstr("net.kind"))));
  EXPECT_THAT(Mistakes("[net]\nhidden = []\n"), ElementsAre(HasSubstr("net.kind")));
  EXPECT_THAT(Mistakes("[actors]\nenvs_per_actor = 3\ngroups = 4\n"),
              ElementsAre(HasSubstr("actors.groups = 4 contradicts actors.envs_per_actor = 3")));
  EXPECT_THAT(Mistakes("[net]\nstages = 3\n[actors]\ngroups = 2\n"),
              ElementsAre(AllOf(StartsWith("x.toml:2:10: net.stages = 3 contradicts actors.groups "
                                           "= 2"),
                                HasSubstr("set actors.groups = 3 or more"))));
  EXPECT_THAT(Mistakes("[net]\nstages = 2\n[actors]\ngroups = 2\n[loss]\nkind = \"ppo\"\n"),
              ElementsAre(AllOf(StartsWith("x.toml:2:10: net.stages = 2 contradicts loss.kind = "
                                           "\"ppo\""),
                                HasSubstr("one gradient of an unroll"))));
  EXPECT_THAT(Mistakes("[net]\nstages = 2\ncritic = \"separate\"\n[actors]\ngroups = 2\n"),
              ElementsAre(AllOf(
                  StartsWith("x.toml:3:10: net.critic = \"separate\" contradicts net.stages = 2"),
                  HasSubstr("stages cut one stack"))));
  EXPECT_THAT(Mistakes("[updates]\nminibatches = 5\n"),
              ElementsAre(AllOf(StartsWith("x.toml:2:15: updates.minibatches = 5 contradicts "
                                           "actors.envs_per_actor = 32"),
                                HasSubstr("a divisor of 32"))));
  EXPECT_THAT(Mistakes("[updates]\nminibatches = 7\nshuffle = \"samples\"\n"),
              ElementsAre(AllOf(StartsWith("x.toml:2:15: updates.minibatches = 7 contradicts "
                                           "actors.envs_per_actor = 32 and actors.unroll = 5"),
                                HasSubstr("a divisor of 160"))));
  EXPECT_THAT(
      Mistakes("[loss]\nvalue_clip = 0.2\nproximal = \"grant\"\n"),
      ElementsAre(HasSubstr("only \"ppo\" clips values"), HasSubstr("only \"ppo\" has a ratio")));
  EXPECT_THAT(Mistakes("[actors]\nenvs_per_actor = 65536\nunroll = 100\n"),
              ElementsAre(AllOf(HasSubstr("actors.envs_per_actor"), HasSubstr("actors.unroll"))));
  EXPECT_THAT(Mistakes("[wire]\ntimeout_s = 0.5\n"),
              ElementsAre(AllOf(StartsWith("x.toml:2:13: "), HasSubstr("wire.heartbeat_ms = 500"),
                                HasSubstr("wire.timeout_s = 0.5"))));
}

TEST(Config, LayersAreTheWholeNet) {
  const Config config = ParseConfig("[net]\nlayers = [\"conv 8 3x3\", \"relu\"]\n", "x.toml");
  EXPECT_EQ(config.net.kind, NetKind::kLayers);
  EXPECT_EQ(config.net.layers, (std::vector<std::string>{"conv 8 3x3", "relu"}));
  EXPECT_EQ(ParseConfig("", "x.toml", {"net.layers=[\"lstm 4\"]"}).net.kind, NetKind::kLayers);
  EXPECT_THAT(Mistakes("[net]\nkind = \"atari\"\nlayers = [\"relu\"]\n"),
              ElementsAre(AllOf(StartsWith("x.toml:3:10: net.layers contradicts net.kind"))));
  EXPECT_THAT(Mistakes("[net]\nlayers = \"relu\"\n"), ElementsAre(HasSubstr("net.layers")));
  EXPECT_THAT(Mistakes("[net]\nlayers = [1]\n"), ElementsAre(HasSubstr("net.layers")));
  EXPECT_THAT(Mistakes("[net]\nlayers = [\"\"]\n"), ElementsAre(HasSubstr("net.layers")));
  // No layers are a net, too: heads on the observation.
  EXPECT_EQ(ParseConfig("[net]\nkind = \"layers\"\n", "x.toml").net.layers.size(), 0u);
}

TEST(Config, AnOptimizerIsNotAskedForWhatItDoesNotHave) {
  EXPECT_THAT(Mistakes("[optimizer]\nkind = \"adam\"\nmomentum = 0.9\n"),
              ElementsAre("x.toml:3:12: optimizer.momentum = 0.9 contradicts optimizer.kind = "
                          "\"adam\": Adam's own momentum is optimizer.beta1"));
  EXPECT_THAT(Mistakes("[optimizer]\nkind = \"adam\"\nepsilon_place = \"inside\"\n"),
              ElementsAre("x.toml:3:17: optimizer.epsilon_place = \"inside\" contradicts "
                          "optimizer.kind = \"adam\": Adam adds epsilon outside the square root"));
  EXPECT_THAT(Mistakes("[optimizer]\nkind = \"adam\"\nbias_correction = false\n"),
              ElementsAre("x.toml:3:19: optimizer.bias_correction = false contradicts "
                          "optimizer.kind = \"adam\": Adam always corrects"));
  for (const std::string kind : {"adam", "sgd"}) {
    EXPECT_THAT(
        Mistakes("[optimizer]\ncentered = true\n", {"optimizer.kind=" + kind}),
        ElementsAre("x.toml:2:12: optimizer.centered = true contradicts optimizer.kind = \"" +
                    kind + "\": only \"rmsprop\" can be centred"));
  }
}

TEST(Config, SchedulesFitTheRun) {
  EXPECT_THAT(
      Mistakes("[run]\nsteps = 1000\n[optimizer]\nwarmup_steps = 1001\n"),
      ElementsAre("x.toml:4:16: optimizer.warmup_steps = 1001 contradicts run.steps = 1000: "
                  "the run would end before optimizer.lr is reached"));
  EXPECT_THAT(Mistakes("[loss]\nentropy_end = 0\nentropy_schedule = \"exponential\"\n"),
              ElementsAre("x.toml:2:15: loss.entropy_end = 0 contradicts loss.entropy_schedule = "
                          "\"exponential\": no factor leads to or from 0; take a small number or "
                          "\"linear\""));
  EXPECT_THAT(Mistakes("[loss]\nentropy = 0.0\nentropy_schedule = \"exponential\"\n"),
              ElementsAre(StartsWith("x.toml:2:11: loss.entropy = 0 contradicts")));
}

// Without a learner every key that is about one is refused by name.
TEST(Config, ARunWithoutALearnerIsSynchronousAndOfOnePiece) {
  const std::string start = "[updates]\nexchange = \"allreduce\"\n[actors]\ncount = 4\n";
  EXPECT_THAT(Mistakes(start),
              ElementsAre("x.toml:2:12: staleness.bound = \"unbounded\" contradicts "
                          "updates.exchange = \"allreduce\": all ranks apply each update "
                          "together, so set it to 0"));
  const std::pair<const char*, const char*> cases[] = {
      {"staleness.bound=3", "staleness.bound = 3"},
      {"staleness.on_exceed=drop", "staleness.on_exceed = \"drop\""},
      {"updates.start_with=2", "updates.start_with = 2"},
      {"staleness.delay=0", "staleness.delay = 0"},
      {"staleness.correction=gap", "staleness.correction = \"gap\""},
      {"learner.shards=2", "learner.shards = 2"},
      {"learner.apply=hogwild", "learner.apply = \"hogwild\""},
      {"wire.endpoint=tcp://127.0.0.1:0", "wire.endpoint = \"tcp://127.0.0.1:0\""},
  };
  for (const auto& [setting, said] : cases) {
    EXPECT_THAT(Mistakes(start, {"staleness.bound=0", setting}),
                ElementsAre(HasSubstr(said + std::string(" contradicts updates.exchange"))));
  }
}

// Each sentence names the delay and the other key.
TEST(Config, ADelayNeedsABoundAndEnoughGradientsUnderWay) {
  const std::string start = "[actors]\ncount = 5\n[staleness]\ndelay = 4\n";
  EXPECT_THAT(Mistakes(start), ElementsAre());
  const struct {
    std::vector<std::string> settings;
    const char* said;
  } cases[] = {
      {{"staleness.bound=3"},
       "staleness.delay = 4 contradicts staleness.bound = 3: each gradient would be over the "
       "bound"},
      {{"staleness.on_exceed=drop"}, "contradicts staleness.on_exceed = \"drop\": no gradient is"},
      {{"actors.count=4", "updates.in_flight=1"},
       "contradicts actors.count = 4: 5 gradients must be under way at a time, and with "
       "updates.in_flight = 1 at most 4 are"},
      {{"updates.gradients=2", "updates.in_flight=1"}, "10 gradients must be under way"},
      {{"loss.kind=ppo"}, "contradicts loss.kind = \"ppo\": an unroll that is used again"},
      {{"updates.epochs=2"}, "contradicts updates.epochs = 2: an unroll that is used again"},
      {{"learner.apply=hogwild"}, "contradicts learner.apply = \"hogwild\""},
      {{"learner.shards=2"}, "contradicts learner.shards = 2"},
  };
  for (const auto& [settings, said] : cases) {
    EXPECT_THAT(Mistakes(start, settings),
                ElementsAre(AllOf(HasSubstr("staleness.delay = 4"), HasSubstr(said))));
  }
  EXPECT_THAT(Mistakes("[staleness]\ndelay = -1\n"),
              ElementsAre(HasSubstr("an integer from 0 to 16383 or \"none\"")));
}

TEST(Config, ACorrectionNeedsABoundAndVersions) {
  const std::string start = "[staleness]\ncorrection = \"gap\"\n";
  EXPECT_THAT(Mistakes(start, {"staleness.bound=8"}), ElementsAre());
  EXPECT_THAT(
      Mistakes(start),
      ElementsAre(AllOf(StartsWith("x.toml:2:14: staleness.correction = \"gap\" contradicts "
                                   "staleness.bound = \"unbounded\""),
                        HasSubstr("so set a bound"))));
  EXPECT_THAT(Mistakes(start, {"staleness.bound=8", "learner.apply=hogwild"}),
              ElementsAre(HasSubstr("contradicts learner.apply = \"hogwild\"")));
}

TEST(Config, WhatMayStandTogether) {
  for (const char* text :
       {"[updates]\nexchange = \"allreduce\"\n[staleness]\nbound = 0\n",
        "[staleness]\nbound = 0\non_exceed = \"drop\"\n", "[net]\nkind = \"mlp\"\nhidden = []\n",
        "[actors]\ncount = 2\n[updates]\ngradients = 4\nin_flight = 2\n",
        // The numbers of another optimizer may stay.
        "[optimizer]\nkind = \"sgd\"\nmomentum = 0.9\ndecay = 0.9\nbeta1 = 0.5\nbeta2 = 0.5\n"
        "epsilon = 0.1\n",
        "[optimizer]\ncentered = true\nmomentum = 0.9\nbias_correction = false\n"
        "epsilon_place = \"inside\"\n",
        "[run]\nsteps = 1000\n[optimizer]\nwarmup_steps = 1000\n",
        "[loss]\nentropy_end = 0\nentropy_schedule = \"constant\"\n",
        "[status]\nport = 555\n[wire]\nendpoint = \"tcp://127.0.0.1:5555\"\n",
        "[wire]\nendpoint = \"tcp://127.0.0.1:0\"\n"}) {
    EXPECT_THAT(Mistakes(text), ElementsAre()) << text;
  }
}

}  // namespace
}  // namespace starling
