// net.kind = "external": a net of the user's own programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/config/config.h"
#include "tests/core/config/config_mistakes.h"

namespace starling {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

const std::string kExternal = "[net]\nkind = \"external\"\ninitial = \"m.safetensors\"\n";

TEST(ExternalConfig, NobodyHasToNameAnEnvironment) {
  const Config config =
      ParseConfig(kExternal + "[actors]\ncommand = [\"python3\", \"actor.py\"]\n", "x.toml");
  EXPECT_EQ(config.env.name, "external");
  EXPECT_THAT(config.actors.command, ElementsAre("python3", "actor.py"));
  EXPECT_EQ(ParseConfig(ToToml(config), "again.toml"), config);
  // It may be named for the programs.
  EXPECT_EQ(ParseConfig(kExternal + "[env]\nname = \"minatar/breakout\"\n", "x.toml").env.name,
            "minatar/breakout");
  EXPECT_EQ(ParseConfig("", "x.toml").env.name, "minatar/breakout");
}

TEST(ExternalConfig, ItNeedsItsFirstWeights) {
  EXPECT_THAT(Mistakes("[net]\nkind = \"external\"\n"),
              ElementsAre(AllOf(HasSubstr("x.toml:2:8"), HasSubstr("needs net.initial"))));
}

TEST(ExternalConfig, WhatStarlingsActorsDoContradictsIt) {
  for (const auto& [lines, sentence] : std::vector<std::pair<std::string, std::string>>{
           {"[loss]\nkind = \"ppo\"\n", "loss.kind = \"ppo\" contradicts net.kind = \"external\""},
           {"[updates]\nepochs = 2\n", "updates.epochs = 2 contradicts"},
           {"[updates]\nminibatches = 2\n", "updates.minibatches = 2 contradicts"},
           {"[env]\nnormalize_observations = true\n", "env.normalize_observations = true"},
           {"[env]\nnormalize_rewards = true\n", "env.normalize_rewards = true"},
           {"[eval]\nevery_steps = 5\n", "eval.every_steps = 5 contradicts"},
           {"[learner]\nshards = 2\n", "learner.shards = 2 contradicts net.kind"},
           {"[optimizer]\nscale_lr = \"linear\"\n", "optimizer.scale_lr = \"linear\" contradicts"},
           {"[checkpoint]\nexact = true\n", "checkpoint.exact = true contradicts"},
           {"[staleness]\nbound = 0\n[updates]\nexchange = \"allreduce\"\n",
            "updates.exchange = \"allreduce\" contradicts net.kind"}}) {
    EXPECT_THAT(Mistakes(kExternal + lines), ElementsAre(HasSubstr(sentence))) << lines;
  }
  EXPECT_THAT(Mistakes(kExternal + "[staleness]\nbound = 4\n[optimizer]\nscale_lr = \"linear\"\n"
                                   "lr_samples = 64\n"),
              IsEmpty());
}

TEST(ExternalConfig, OtherNetsHaveNoPrograms) {
  EXPECT_THAT(Mistakes("[net]\ninitial = \"m\"\n"),
              ElementsAre(HasSubstr("net.initial contradicts net.kind = \"minatar\"")));
  EXPECT_THAT(Mistakes("[actors]\ncommand = [\"a\"]\n"),
              ElementsAre(HasSubstr("actors.command contradicts net.kind = \"minatar\"")));
}

}  // namespace
}  // namespace starling
