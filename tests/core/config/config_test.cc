#include "core/config/config.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/config/config_rules.h"
#include "core/instructions.h"
#include "tests/core/config/config_mistakes.h"
#include "tests/support/error_of.h"

namespace starling {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

TEST(Config, AnEmptyFileIsTheDefaultsResolved) {
  const Config config = ParseConfig("", "configs/hello.toml");
  Config expected;
  expected.run.name = "hello";
  expected.run.dir = "runs/hello";
  expected.actors.count = expected.updates.start_with = UsableCores();
  expected.actors.instructions = BestInstructions();
  expected.net.kind = NetKind::kMinatar;
  expected.updates.in_flight = 2;  // nothing bounds the staleness
  expected.optimizer.lr_samples = 32 * 5;
  expected.automatic = {"optimizer.lr_samples", "updates.start_with", "updates.in_flight"};
  EXPECT_EQ(config, expected);
}

TEST(Config, ReadsDottedKeysAndIntegersAsNumbers) {
  const Config config =
      ParseConfig("run.seed = 9223372036854775807\n[optimizer]\nlr = 1\n", "x.toml");
  EXPECT_EQ(config.run.seed, 9223372036854775807u);
  EXPECT_EQ(config.optimizer.lr, 1.0);
  EXPECT_EQ(config.samples_per_gradient(), 32 * 5);
}

TEST(Config, AutomaticGradientsFitTheBound) {
  const std::pair<std::string, int> cases[] = {
      {"0", 7},  // ceil(7 / 1)
      {"1", 4},  // ceil(7 / 2)
      {"2", 3}, {"5", 2}, {"6", 1}, {"1000000000000000", 1}, {"unbounded", 1}};
  for (const auto& [bound, gradients] : cases) {
    const Config config = ParseConfig("[actors]\ncount = 7\n[updates]\ngradients = \"auto\"",
                                      "x.toml", {"staleness.bound=" + bound});
    EXPECT_EQ(config.updates.gradients, gradients) << bound;
  }
}

// A second grant for each of 3 actors makes a natural staleness of 2 x 3 / K - 1, a third, over tcp
// only, of 3 x 3 / K - 1. Six gradients can only be held with two grants each.
TEST(Config, AutomaticGrantsFitTheBound) {
  const struct {
    std::string bound, gradients;
    int grants, over_tcp;
  } cases[] = {{"unbounded", "1", 2, 3}, {"8", "1", 2, 3}, {"7", "1", 2, 2}, {"5", "1", 2, 2},
               {"4", "1", 1, 1},         {"4", "2", 2, 3}, {"2", "2", 2, 2}, {"1", "3", 2, 2},
               {"1", "2", 1, 1},         {"0", "1", 1, 1}, {"0", "3", 1, 1}, {"5", "6", 2, 3},
               {"2", "auto", 1, 1}};
  for (const auto& [bound, gradients, grants, over_tcp] : cases) {
    std::vector<std::string> settings = {"staleness.bound=" + bound,
                                         "updates.gradients=" + gradients};
    const auto in_flight = [&] {
      return ParseConfig("[actors]\ncount = 3", "x.toml", settings).updates.in_flight;
    };
    EXPECT_EQ(in_flight(), grants) << bound << ", " << gradients;
    settings.emplace_back("wire.endpoint=tcp://127.0.0.1:0");
    EXPECT_EQ(in_flight(), over_tcp) << bound << ", " << gradients;
  }
}

// As many as are under way at a time, for K gradients of each of d + 1 versions, over the actors.
TEST(Config, AutomaticGrantsFitTheDelay) {
  const auto grants = [](int actors, const std::string& delay, const std::string& k) {
    const Config config = ParseConfig(fmt::format("[actors]\ncount = {}", actors), "x.toml",
                                      {"staleness.delay=" + delay, "updates.gradients=" + k});
    return std::pair(config.updates.gradients, config.updates.in_flight);
  };
  EXPECT_EQ(grants(4, "0", "1"), std::pair(1l, 1l));
  EXPECT_EQ(grants(4, "3", "1"), std::pair(1l, 1l));
  EXPECT_EQ(grants(4, "4", "1"), std::pair(1l, 2l));
  EXPECT_EQ(grants(4, "3", "2"), std::pair(2l, 2l));
  EXPECT_EQ(grants(2, "31", "1"), std::pair(1l, 16l));
  EXPECT_EQ(grants(40, "7", "auto"), std::pair(1l, 1l)) << "K does not make it less stale";
}

// It starts a gradient before the last one is finished.
TEST(Config, AnActorWithItsGamesOnAGpuHoldsOneGrantMore) {
  const auto in_flight = [](std::vector<std::string> more) {
    more.insert(more.begin(), {"actors.backend=cuda", "actors.env_device=cuda"});
    return ParseConfig("[actors]\ncount = 1", "x.toml", more).updates.in_flight;
  };
  EXPECT_EQ(in_flight({}), 3);
  EXPECT_EQ(in_flight({"wire.endpoint=tcp://127.0.0.1:0"}), 4);
  EXPECT_EQ(in_flight({"actors.env_device=auto"}), 2) << "they may be on the host";
  EXPECT_EQ(in_flight({"loss.kind=ppo", "updates.epochs=2"}), 2);
  EXPECT_EQ(in_flight({"staleness.bound=1"}), 2);
  EXPECT_EQ(in_flight({"staleness.bound=0"}), 1);
}

// Written as numbers they contradicted an actors.count that the resumed run changed, in lines that
// nobody had written.
TEST(Config, WhatWasAutomaticIsWorkedOutAgainFromTheFileOfARun) {
  const std::string written = ToToml(ParseConfig("[actors]\ncount = 4\n", "x.toml",
                                                 {"staleness.bound=1", "updates.gradients=auto"}));
  EXPECT_THAT(written, HasSubstr("gradients = \"auto\"  # 2\nin_flight = \"auto\"  # 1\n"
                                 "start_with = \"auto\"  # 4\n"));
  const Config one = ParseConfig(written, "config.toml", {"actors.count=1"});
  EXPECT_EQ(one.updates.start_with, 1);
  EXPECT_EQ(one.updates.gradients, 1);
  EXPECT_EQ(one.updates.in_flight, 2);
  // What a person wrote stays.
  const std::string chosen = ToToml(ParseConfig("", "x.toml", {"updates.start_with=1"}));
  EXPECT_THAT(chosen, HasSubstr("start_with = 1\n"));
}

TEST(Config, SyntaxErrorsAreLocated) {
  const std::pair<std::string, const char*> cases[] = {
      {"[run]\nseed = = 3\n", "x.toml:2:8: "},
      {"[run]\nseed = 1\nseed = 2\n", "x.toml:3:"},
      {"[run]\n[env]\n[run]\n", "x.toml:3:"},
      {"[run\n", "x.toml:1:"},
      {"[run]\nname = \"\xff\"\n", "x.toml:2:"},
      {std::string("[run]\nname = \"\0\"\n", 17), "x.toml:2:"},
      {"[run]\nseed = 99999999999999999999\n", "x.toml:2:"},
  };
  for (const auto& [text, place] : cases) {
    EXPECT_THAT(Mistakes(text), ElementsAre(StartsWith(place))) << text;
  }
}

TEST(Config, OverridesAreCheckedBesideASyntaxError) {
  EXPECT_THAT(Mistakes("[run", {"run.sed=1"}),
              ElementsAre(StartsWith("x.toml:1:"), StartsWith("--set run.sed=1: ")));
}

TEST(Config, UnknownNamesGetTheNearestKnownOne) {
  EXPECT_THAT(Mistakes("[actor]\ncount = 1\n"),
              ElementsAre(AllOf(StartsWith("x.toml:1:2: unknown section \"actor\""),
                                HasSubstr("did you mean \"actors\"?"), HasSubstr("checkpoint"))));
  EXPECT_THAT(Mistakes("[actors]\n  cuont = 1\n"),
              ElementsAre(AllOf(StartsWith("x.toml:2:3: unknown key actors.cuont"),
                                HasSubstr("did you mean \"count\"?"), HasSubstr("unroll"))));
  EXPECT_THAT(
      Mistakes("[loss]\nreduction = \"maen\"\n"),
      ElementsAre("x.toml:2:13: loss.reduction = \"maen\" is not allowed; allowed: \"mean\" or "
                  "\"sum\"; did you mean \"mean\"?"));
  EXPECT_THAT(Mistakes("[staleness]\nbound = \"unbound\"\n"),
              ElementsAre(HasSubstr("or \"unbounded\"; did you mean \"unbounded\"?")));
}

TEST(Config, AKeyInTheWrongPlaceIsToldTheRightOne) {
  EXPECT_THAT(Mistakes("[optimizer]\ngamma = 0.9\n"),
              ElementsAre(HasSubstr("did you mean \"loss.gamma\"?")));
  EXPECT_THAT(Mistakes("seed = 3\n"),
              ElementsAre("x.toml:1:1: seed stands outside of every section; did you mean "
                          "\"run.seed\"?"));
  EXPECT_THAT(Mistakes("run = 3\n"),
              ElementsAre("x.toml:1:1: run is an integer, but it is a section: write [run]"));
  EXPECT_THAT(Mistakes("[[run]]\nseed = 3\n"), ElementsAre(HasSubstr("run is a list")));
}

TEST(Config, WrongTypesAndValuesOutOfRangeAreToldWhatIsAllowed) {
  const std::pair<const char*, const char*> cases[] = {
      {"[run]\nseed = \"one\"\n",
       "x.toml:2:8: run.seed = \"one\" is a string; allowed: an integer from 0 to "
       "9223372036854775807"},
      {"[run]\nsteps = 5e6\n", "is a floating-point number"},
      {"[loss]\ngamma = true\n", "is a boolean"},
      {"[env]\nname = 2024-01-01\n", "is a date or time"},
      {"[optimizer]\nbias_correction = 1\n", "is an integer; allowed: true or false"},
      {"[net]\nhidden = 128\n", "is an integer; allowed: a list of 0 to 8 integers"},
      {"[net]\nhidden = [1.5]\n", "net.hidden"},
      {"[run.seed]\na = 1\n", "run.seed = {...} is a table"},
      {"[actors]\nunroll = 0\n",
       "x.toml:2:10: actors.unroll = 0 is out of range; allowed: an integer from 1 to 10000"},
      {"[actors]\ncount = 0\n", "1 to 1024 or \"auto\""},
      {"[run]\nseed = -1\n", "out of range"},
      {"[staleness]\nbound = -1\n", "out of range"},
      {"[optimizer]\nlr = 0.0\n", "above 0 to 10"},
      {"[optimizer]\ndecay = 1\n", "from 0 to below 1"},
      {"[optimizer]\nmomentum = 1\n", "0 to below 1"},
      {"[optimizer]\nbeta1 = 1\n", "0 to below 1"},
      {"[optimizer]\nbeta2 = -0.1\n", "0 to below 1"},
      {"[optimizer]\nwarmup_steps = -1\n", "from 0 to"},
      {"[optimizer]\nepsilon = 1e-40\n", "from 1e-30 to 1"},
      {"[optimizer]\nlr = nan\n", "out of range"},
      {"[updates]\nmax_norm = inf\n", "out of range"},
      {"[run]\nuntil_return = inf\n", "out of range"},
      {"[run]\nuntil_return = \"newer\"\n",
       "x.toml:2:16: run.until_return = \"newer\" is a string; allowed: a number from -1000000000 "
       "to 1000000000 or \"never\""},
      {"[net]\nhidden = [1, 0]\n", "out of range"},
      {"[net]\nkind = \"mlp\"\nhidden = [1,1,1,1,1,1,1,1,1]\n", "a list of 0 to 8"},
      {"[env]\nname = \"\"\n", "the name of an environment"},
      {"[run]\nname = \"a\\nb\"\n", "text on one line"},
      {"[run]\nname = \"a\\u007fb\"\n", "text on one line"},
      // What is not 0, or below 1, as a double may be as a float.
      {"[optimizer]\nlr = 1e-320\n",
       "x.toml:2:6: optimizer.lr = 1e-320 is 0 as a 32-bit float; allowed: a number above 0 to 10"},
      {"[optimizer]\nlr = 1e-38\n", "is 0 as a 32-bit float"},
      {"[optimizer]\nclip_norm = 1e-46\n", "is 0 as a 32-bit float"},
      {"[updates]\nmax_norm = 1e-40\n", "is 0 as a 32-bit float"},
      {"[optimizer]\ndecay = 0.99999999999\n",
       "optimizer.decay = 0.99999999999 is 1 as a 32-bit float; allowed: a number from 0 to below "
       "1"},
      {"[optimizer]\nmomentum = 0.99999999999\n", "is 1 as a 32-bit float"},
      // Clocks count milliseconds.
      {"[staleness]\ndeadline_s = 1e-4\n", "from 0.001 to 86400"},
      {"[wire]\nconnect_timeout_s = 1e-4\n", "from 0.001 to 86400"},
      {"[updates]\nstart_timeout_s = 1e-4\n", "from 0.001 to 86400"},
  };
  for (const auto& [text, sentence] : cases) {
    EXPECT_THAT(Mistakes(text), ElementsAre(HasSubstr(sentence))) << text;
  }
}

TEST(Config, ANumberOrListInAnOverrideThatIsNoTomlIsNoWord) {
  EXPECT_THAT(Mistakes("", {"run.steps=99999999999999999999"}),
              ElementsAre("--set run.steps=99999999999999999999: run.steps = 99999999999999999999: "
                          "Error while parsing decimal integer: '99999999999999999999' is not "
                          "representable in 64 bits; allowed: an integer from 1 to "
                          "1000000000000000"));
  EXPECT_THAT(Mistakes("", {"net.hidden=[64, 32"}),
              ElementsAre(AllOf(HasSubstr("net.hidden = [64, 32: Error"),
                                HasSubstr("a list of 0 to 8 integers"))));
  EXPECT_EQ(ParseConfig("", "x.toml", {"run.name=99999999999999999999"}).run.name,
            "99999999999999999999");
}

TEST(Config, TheElementOfAListThatIsWrongIsNamed) {
  EXPECT_THAT(Mistakes("[net]\nhidden = [64, \"a\"]\n"),
              ElementsAre(AllOf(HasSubstr("net.hidden = [64, \"a\"] has \"a\", which is a string"),
                                HasSubstr("; allowed: a list of 0 to 8 integers"))));
  EXPECT_THAT(Mistakes("[net]\nhidden = [64, 0]\n"),
              ElementsAre(HasSubstr("net.hidden = [64, 0] has 0, which is out of range; allowed")));
}

TEST(Config, ARunsNameStaysBelowItsFolder) {
  for (const char* name : {"../x", "/", "/tmp/x", "a//b", "a/", "./a", "a/../b", "."}) {
    EXPECT_THAT(Mistakes("", {std::string("run.name=\"") + name + '"'}),
                ElementsAre(HasSubstr("allowed: text on one line, as a path below runs/")))
        << name;
  }
  EXPECT_EQ(ParseConfig("", "x.toml", {"run.name=study/a..b"}).run.dir, "runs/study/a..b");
  EXPECT_EQ(ParseConfig("", "..toml").run.name, "run");
}

// A terminal obeys control characters in a message.
TEST(Config, ControlCharactersInAMistakeAreEscaped) {
  EXPECT_THAT(Mistakes("", {"run.st\x1b[31meps=3"}),
              ElementsAre(AllOf(StartsWith("--set run.st\\x1b[31meps=3: unknown key run.st\\x1b"),
                                Not(HasSubstr("\x1b")))));
  EXPECT_THAT(ErrorOf([] { ParseConfig("", "a\nb.toml"); }),
              HasSubstr("the name of the file, \"a\\nb\", has control characters"));
  EXPECT_EQ(ParseConfig("", "a\nb.toml", {"run.name=x"}).run.dir, "runs/x");
}

TEST(Config, ThePortOfTheStatusPagesIsNotThatOfTheActors) {
  EXPECT_THAT(Mistakes("[status]\nport = 5555\n", {"wire.endpoint=tcp://127.0.0.1:5555"}),
              ElementsAre("x.toml:2:8: status.port = 5555 contradicts wire.endpoint = "
                          "\"tcp://127.0.0.1:5555\": that is the port that actors connect to"));
}

TEST(Config, EveryShardHasAPort) {
  EXPECT_THAT(Mistakes("[learner]\nshards = 3\n", {"wire.endpoint=tcp://*:65534"}),
              ElementsAre("x.toml:2:10: learner.shards = 3 contradicts wire.endpoint = "
                          "\"tcp://*:65534\": each shard takes a port after the learner's, and "
                          "65535 is the last there is"));
  EXPECT_THAT(Mistakes("[learner]\nshards = 2\n", {"wire.endpoint=tcp://*:65534"}), ElementsAre());
  EXPECT_THAT(Mistakes("[learner]\nshards = 2\n", {"wire.endpoint=tcp://*:0"}), ElementsAre());
  EXPECT_THAT(
      Mistakes("[learner]\nshards = 2\n[status]\nport = 5556\n", {"wire.endpoint=tcp://*:5555"}),
      ElementsAre("x.toml:4:8: status.port = 5556 contradicts wire.endpoint = \"tcp://*:5555\": "
                  "that is one of the ports that actors connect to"));
}

TEST(Config, GradientsAndWeightsTravelInOneOfTwoTypes) {
  const Config config = ParseConfig("", "x.toml", {"wire.gradient=bf16", "wire.weights=bf16"});
  EXPECT_EQ(config.wire.gradient, NumberType::kBf16);
  EXPECT_EQ(config.wire.weights, NumberType::kBf16);
  EXPECT_THAT(Mistakes("", {"wire.gradient=topk"}),
              ElementsAre(AllOf(HasSubstr("topk"), HasSubstr("\"f32\" or \"bf16\""))));
}

TEST(Config, AllMistakesComeAtOnceInTheOrderOfTheFile) {
  EXPECT_THAT(Mistakes("[staleness]\nbound = -1\n[updates]\nin_flight = 3\nstart_with = 9\n"
                       "[actors]\ncount = 4\nfoo = 1\n[bar]\n",
                       {"env.name=5", "nonsense"}),
              ElementsAre(StartsWith("x.toml:2:9: staleness.bound"),
                          StartsWith("x.toml:5:14: updates.start_with = 9"),
                          StartsWith("x.toml:8:1: unknown key actors.foo"),
                          StartsWith("x.toml:9:2: unknown section \"bar\""),
                          StartsWith("--set env.name=5: "), StartsWith("--set nonsense: ")));
}

// staleness.bound was refused, so its default must not be held against updates.in_flight.
TEST(Config, ARefusedValueIsNoPartOfAContradiction) {
  EXPECT_THAT(Mistakes("[actors]\ncount = \"two\"\n[updates]\nstart_with = 1000\n"),
              ElementsAre(HasSubstr("actors.count = \"two\"")));
}

}  // namespace
}  // namespace starling
