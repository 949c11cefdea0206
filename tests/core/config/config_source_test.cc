// The sources of a configuration, files and options, and their limits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/config/config.h"
#include "core/config/config_rules.h"
#include "tests/core/config/config_mistakes.h"
#include "tests/support/error_of.h"
#include "tests/support/temp_dir.h"

namespace starling {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

std::string Repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(ConfigOverride, IsTomlOrABareWord) {
  const Config config = ParseConfig(
      "[run]\nseed = 5\n", "x.toml",
      {"run.seed=7", "staleness.on_exceed=drop", "env.name=minatar/breakout", "run.name = \"a b\"",
       "wire.endpoint=tcp://127.0.0.1:0", "net.kind=mlp", "net.hidden=[3, 4]", "loss.gamma=1e-1",
       "optimizer.bias_correction=false", "staleness.bound=unbounded", "actors.count=auto",
       "run.dir=/tmp/a=b", "run.seed=8"});
  EXPECT_EQ(config.run.seed, 8u);  // the last one holds
  EXPECT_EQ(config.staleness.on_exceed, OnExceed::kDrop);
  EXPECT_EQ(config.env.name, "minatar/breakout");
  EXPECT_EQ(config.run.name, "a b");
  EXPECT_EQ(config.wire.endpoint, "tcp://127.0.0.1:0");
  EXPECT_EQ(config.net.hidden, (std::vector<std::int64_t>{3, 4}));
  EXPECT_EQ(config.loss.gamma, 0.1);
  EXPECT_FALSE(config.optimizer.bias_correction);
  EXPECT_EQ(config.staleness.bound, kUnbounded);
  EXPECT_EQ(config.actors.count, UsableCores());
  EXPECT_EQ(config.run.dir, "/tmp/a=b");
}

TEST(ConfigOverride, MistakesAreLocatedAtTheOption) {
  EXPECT_THAT(
      Mistakes("", {"actors.count=many"}),
      ElementsAre("--set actors.count=many: actors.count = \"many\" is not allowed; allowed: an "
                  "integer from 1 to 1024 or \"auto\""));
  EXPECT_THAT(Mistakes("", {"actors.cout=3"}),
              ElementsAre(AllOf(StartsWith("--set actors.cout=3: unknown key actors.cout"),
                                HasSubstr("did you mean \"count\"?"))));
  EXPECT_THAT(Mistakes("", {"actor.count=3"}),
              ElementsAre(AllOf(StartsWith("--set actor.count=3: unknown section \"actor\""),
                                HasSubstr("did you mean \"actors\"?"))));
  EXPECT_THAT(
      Mistakes("[actors]\ncount = 4\n", {"updates.start_with=5"}),
      ElementsAre(StartsWith("--set updates.start_with=5: updates.start_with = 5 contradicts")));
}

TEST(ConfigOverride, MalformedOnes) {
  for (const char* setting : {"", "=", "run", "run.seed", "seed=3", "run=3", "=run.seed"}) {
    EXPECT_THAT(Mistakes("", {setting}), ElementsAre(StartsWith(std::string("--set ") + setting +
                                                                ": an override is written")));
  }
  EXPECT_THAT(Mistakes("", {".=3"}), ElementsAre(HasSubstr("unknown section")));
  EXPECT_THAT(Mistakes("", {"run.seed.x=3"}), ElementsAre(HasSubstr("unknown key run.seed.x")));
  EXPECT_THAT(Mistakes("", {"run.seed="}), ElementsAre(HasSubstr("run.seed = \"\" is a string")));
  // A second line of TOML is not a second setting.
  EXPECT_THAT(Mistakes("", {"run.seed=1\nsteps=2"}), testing::SizeIs(testing::Ge(1u)));
}

TEST(ConfigSource, TellsWhereAKeyWasSet) {
  ConfigSource source;
  ParseConfig("[env]\nname = \"catch\"\n", "a/x.toml", {"run.seed=3"}, &source);
  EXPECT_EQ(source.Where("env.name"), "a/x.toml:2:8");
  EXPECT_EQ(source.Where("run.seed"), "--set run.seed=3");
  EXPECT_EQ(source.Where("run.steps"), "");
}

TEST(LoadConfig, ReadsAFileAndNamesTheRunAfterIt) {
  const TempDir dir;
  const Config config =
      LoadConfig(dir.Write("my.game.toml", "[run]\nseed = 4\n"), {"run.steps=10"});
  EXPECT_EQ(config.run.name, "my.game");
  EXPECT_EQ(config.run.dir, "runs/my.game");
  EXPECT_EQ(config.run.seed, 4u);
  EXPECT_EQ(config.run.steps, 10u);
}

TEST(LoadConfig, AMissingFileIsNamedWithTheNearestOne) {
  const TempDir dir;
  dir.Write("breakout.toml", "");
  dir.Write("catch.toml", "");
  dir.Write("braekout.txt", "");
  const auto message = [&](const std::filesystem::path& path) -> std::string {
    return ErrorOf([&] { LoadConfig(path); });
  };
  EXPECT_THAT(message(dir / "braekout.toml"),
              AllOf(HasSubstr((dir / "braekout.toml").string()), HasSubstr("No such file"),
                    HasSubstr("did you mean \"" + (dir / "breakout.toml").string() + "\"?")));
  EXPECT_THAT(message(dir / "breakout"), HasSubstr("did you mean"));
  EXPECT_THAT(message(dir / "seaquest.toml"), testing::Not(HasSubstr("did you mean")));
  EXPECT_THAT(message(dir / "absent/x.toml"), HasSubstr("No such file"));
  EXPECT_THAT(message(dir.path()), HasSubstr("is a directory"));
}

TEST(LoadConfig, AFileThatIsThereIsNotTakenForASlip) {
  const TempDir dir;
  dir.Write("catch.toml", "");
  std::filesystem::create_symlink("catch2.toml", dir / "catch2.toml");  // ELOOP, for root too
  EXPECT_THAT(ErrorOf([&] { LoadConfig(dir / "catch2.toml"); }), testing::Not(HasSubstr("mean")));
}

TEST(LoadConfig, AFileWithoutAnEndIsRefused) {
  EXPECT_THAT(ErrorOf([&] { LoadConfig("/dev/zero"); }),
              testing::StrEq("config /dev/zero cannot be read: File too large"));
}

// Each part of such a key took some of the stack, and the process ended.
TEST(ConfigLimits, KeysOfManyPartsAreRefused) {
  const std::string deep = Repeated("a.", 200'000) + "a";
  EXPECT_THAT(Mistakes("[run]\n" + deep + " = 1\n"),
              ElementsAre(HasSubstr("x.toml:1:1: 200000 points are more than")));
  EXPECT_THAT(Mistakes("[" + deep + "]\n"), ElementsAre(HasSubstr("points are more than")));
  EXPECT_EQ(Mistakes("", {"run.seed={" + deep + " = 1}"}).size(), 1u);
}

TEST(ConfigLimits, AFileHasALimit) {
  EXPECT_THAT(Mistakes(Repeated("# so many words\n", 1 << 17)),
              ElementsAre(HasSubstr("2097152 bytes are more than a file of TOML may have")));
}

TEST(ConfigLimits, TheFirstMistakesAreEnough) {
  std::string text = "[run]\n";
  for (int i = 0; i < 50'000; ++i) text += "k" + std::to_string(i) + " = 1\n";
  const std::vector<std::string> mistakes = Mistakes(text);
  ASSERT_EQ(mistakes.size(), 101u);
  EXPECT_EQ(mistakes.back(), "and perhaps more: these are the first 100 that were found");
}

// Else it would be the learner that aborts, when it has the configuration to send.
TEST(ConfigLimits, TheWholeCanBeSentToActors) {
  EXPECT_THAT(Mistakes("[run]\nname = \"" + Repeated("a", 70'000) + "\"\n"),
              ElementsAre(AllOf(StartsWith("x.toml: the whole configuration is "),
                                HasSubstr("at most 49152"))));
  EXPECT_THAT(Mistakes("", {"env.name=" + Repeated("\\", 30'000)}),
              ElementsAre(HasSubstr("the whole configuration")));
}

// Else the run would write a config.toml that neither its actors nor a resumed run can read.
TEST(ConfigLimits, TextsThatTomlCannotHoldAreRefused) {
  EXPECT_THAT(Mistakes("", {"run.name=caf\xe9"}),
              ElementsAre("--set run.name=caf\xe9: run.name is no UTF-8 text"));
  EXPECT_THAT(Mistakes("", {"net.layers=[\"\xff\"]"}), testing::SizeIs(1));
  EXPECT_EQ(ParseConfig("", "x.toml", {"run.name=caf\xc3\xa9"}).run.name, "caf\xc3\xa9");
  EXPECT_THAT(ErrorOf([&] { ParseConfig("", "caf\xe9.toml"); }),
              HasSubstr("run.name is no UTF-8 text"));
}

}  // namespace
}  // namespace starling
