// What is said of a grid that is wrong.
#include "tests/support/reserved_port.h"
#include "tests/tools/sweep/grid_fixture.h"

namespace starling::sweep {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST_F(GridTest, EveryMistakeOfAGridIsALineInTheOrderOfTheFile) {
  EXPECT_EQ(Mistake("config = \"catch.toml\"\n"
                    "seed = [1]\n"
                    "at_once = 0\n"
                    "seeds = [1, -1, 1]\n"
                    "[set]\n"
                    "run.stepps = 5\n"
                    "run.seed = 3\n"
                    "[grid]\n"
                    "staleness.bound = [0, -4]\n"
                    "staleness.on_exceed = [\"wait\", \"wiat\"]\n"
                    "loss.gamma = 0.9\n"),
            "mine.toml:2:1: unknown key seed; keys of a grid: config, dir, at_once, "
            "simulate, seeds, eval_episodes, set, grid; did you mean \"seeds\"?\n"
            "mine.toml:3:11: at_once = 0 is not allowed; allowed: an integer from 1 to 64\n"
            "mine.toml:4:13: a seed = -1 is not allowed; allowed: an integer from 0 to "
            "9223372036854775807\n"
            "mine.toml:4:17: seed 1 is listed twice\n"
            "mine.toml:6:5: unknown key run.stepps; keys of [run]: name, seed, steps, dir, "
            "init_from, metrics_s, tensorboard; did you mean \"steps\"?\n"
            "mine.toml:7:5: run.seed is the sweep's to set: list them in seeds = [...]\n"
            "mine.toml:9:23: staleness.bound = -4 is out of range; allowed: an integer from 0 to "
            "1000000000000000 or \"unbounded\"\n"
            "mine.toml:10:32: staleness.on_exceed = \"wiat\" is not allowed; allowed: \"wait\" or "
            "\"drop\"; did you mean \"wait\"?\n"
            "mine.toml:11:14: loss.gamma = 0.9 is no list of values: write [...], or put one value "
            "for all runs under [set]");
}

// Said once, not once for each of the four points that have it.
TEST_F(GridTest, AnUnknownKeyIsOneMistake) {
  const std::string said = Mistake(
      "config = \"catch.toml\"\n[grid]\nstaleness.boud = [0, 4]\nloss.gamma = [0.9, 0.99]\n");
  EXPECT_THAT(said, AllOf(HasSubstr("mine.toml:3:11: unknown key staleness.boud"),
                          HasSubstr("did you mean \"bound\"?"), Not(HasSubstr("\n"))));
}

TEST_F(GridTest, ASimulationIsTriedOutAsOne) {
  const std::string text =
      "config = \"catch.toml\"\nsimulate = true\n[grid]\n"
      "learner.apply = [\"lanes\", \"hogwild\"]\n";
  EXPECT_THAT(Mistake(text), HasSubstr("mine.toml:4:27: learner.apply = \"hogwild\" cannot be "
                                       "simulated"));
  EXPECT_THAT(Mistake("config = \"catch.toml\"\n[grid]\nsimulate.stragglers = [0, 1]\n"),
              HasSubstr("simulate.stragglers varies, and training reads none of it"));
  EXPECT_EQ(Mistake("config = \"catch.toml\"\nsimulate = 1\n"),
            "mine.toml:2:12: simulate = 1 is not allowed; allowed: true, false");
  EXPECT_THAT(Mistake("config = \"catch.toml\"\n[simulate]\nstragglers = 1\n"),
              HasSubstr("keys of the section simulate stand under [set] or [grid]"));
}

TEST_F(GridTest, WhatOnlyAWholePointShowsIsFound) {
  // Each is right by itself.
  EXPECT_THAT(
      Mistake("config = \"catch.toml\"\n[set]\nupdates.in_flight = 2\n[grid]\n"
              "staleness.bound = [4, 0]\n"),
      AllOf(HasSubstr("mine.toml:3:21: updates.in_flight = 2 contradicts staleness.bound = 0"),
            Not(HasSubstr("\n"))));
  EXPECT_THAT(
      Mistake("config = \"catch.toml\"\n[grid]\nenv.name = [\"catch\", \"cach\"]\n"),
      AllOf(HasSubstr("mine.toml:3:22: env.name: there is no env \"cach\""), HasSubstr("catch")));
}

TEST_F(GridTest, MistakesOfTheConfigurationStandWhereTheyAre) {
  dir_.Write("wrong.toml", "[run]\nsteps = 0\n");
  const std::string said = Mistake("config = \"wrong.toml\"\n[grid]\nloss.gamma = [0.9, 2]\n");
  EXPECT_THAT(said, HasSubstr("mine.toml:3:20: loss.gamma = 2"));
  EXPECT_THAT(said, HasSubstr("\nwrong.toml:2:9: run.steps = 0"));
}

TEST_F(GridTest, AConfigurationThatIsNotThere) {
  EXPECT_THAT(Mistake("config = \"cath.toml\"\n"),
              AllOf(HasSubstr("mine.toml:1:10: config cath.toml cannot be read"),
                    HasSubstr("did you mean \"catch.toml\"?")));
  EXPECT_THAT(Mistake("seeds = [1]\n"), HasSubstr("mine.toml: config = \"...\" is missing"));
}

TEST_F(GridTest, ValuesThatCouldNotBeToldApart) {
  EXPECT_THAT(Mistake("config = \"catch.toml\"\n[grid]\nstaleness.bound = [4, 0, 4]\n"),
              HasSubstr("mine.toml:3:26: staleness.bound = 4 is listed twice"));
  EXPECT_THAT(Mistake("config = \"catch.toml\"\n[grid]\nwire.runtime_dir = [\"/a/b\", \"a-b\"]\n"),
              HasSubstr("would both be called \"a-b\""));
  EXPECT_THAT(
      Mistake("config = \"catch.toml\"\n[set]\nloss.gamma = 0.9\n[grid]\nloss.gamma = [0.9]\n"),
      HasSubstr("mine.toml:5:6: loss.gamma stands here twice (mine.toml:3:6)"));
}

TEST_F(GridTest, KeysOfAConfigurationOutsideOfTheTables) {
  EXPECT_THAT(Mistake("config = \"catch.toml\"\nstaleness.bound = [0, 4]\n"),
              HasSubstr("mine.toml:2:1: staleness is a section of a configuration: write its keys "
                        "under [grid]"));
  EXPECT_THAT(Mistake("config = \"catch.toml\"\n[grid]\nbound = [0, 4]\n"),
              HasSubstr("mine.toml:3:1: bound stands outside of every section"));
}

TEST_F(GridTest, WhatIsNoGridAtAll) {
  EXPECT_THAT(Mistake("config = = 3\n"), HasSubstr("mine.toml:1:10: "));
  EXPECT_THAT(Mistake("config = 3\nseeds = []\ngrid = 4\n"),
              AllOf(HasSubstr("1:10: config = 3 is not allowed"), Not(HasSubstr("missing")),
                    HasSubstr("2:9: seeds = [] is not allowed"),
                    HasSubstr("3:8: grid is a section: write [grid]")));
  EXPECT_THAT(Mistake("config = \"catch.toml\"\ndir = \"\"\nseeds = [1.5]\n"
                      "eval_episodes = -1\n"),
              AllOf(HasSubstr("2:7: dir = \"\" is not allowed; allowed: a path"),
                    HasSubstr("3:10: a seed = 1.5 is not allowed; allowed: an integer from 0"),
                    HasSubstr("4:17: eval_episodes = -1 is not allowed; allowed: an integer from 0 "
                              "to 10000000")));
}

TEST_F(GridTest, PathsThatMeanSomethingElseToAShell) {
  for (const char* dir : {"~/sweeps", "a\\nb"}) {
    EXPECT_THAT(Mistake("config = \"catch.toml\"\ndir = \"" + std::string(dir) + "\"\n"),
                HasSubstr("2:7: dir = "));
  }
}

TEST_F(GridTest, AGridThatCannotBeRead) {
  const auto said = [](const std::filesystem::path& path) -> std::string {
    try {
      ReadGrid(path);
    } catch (const UserError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(said(dir_ / "absent.toml"),
              HasSubstr("absent.toml cannot be read: No such file or directory"));
  EXPECT_THAT(said(dir_.path()), HasSubstr(" is a directory; give the TOML file of a grid"));
}

TEST_F(GridTest, WhatEveryRunHasOfItsOwn) {
  EXPECT_THAT(
      Mistake("config = \"catch.toml\"\n[grid]\nrun.name = [\"a\"]\nrun.dir = [\"b\"]\n"),
      AllOf(HasSubstr("3:5: run.name is the sweep's to set: runs are named after their point"),
            HasSubstr("4:5: run.dir is the sweep's to set: every run has a directory of its own")));
}

TEST_F(GridTest, TheSameKeyTwice) {
  EXPECT_THAT(
      Mistake(
          "config = \"catch.toml\"\n[grid]\nstaleness.bound = [0]\n\"staleness.bound\" = [4]\n"),
      HasSubstr("mine.toml:4:1: staleness.bound stands here twice (mine.toml:3:11)"));
  EXPECT_THAT(Mistake("config = \"catch.toml\"\n[set]\nloss.gamma = 0.9\n\"loss.gamma\" = 0.8\n"),
              HasSubstr("mine.toml:4:1: loss.gamma stands here twice (mine.toml:3:6)"));
}

TEST_F(GridTest, ATableIsNoKey) {
  EXPECT_THAT(Mistake("config = \"catch.toml\"\n[set]\nrun.steps.x = 3\n[grid]\n"
                      "optimizer.lr.x = [1]\n"),
              AllOf(HasSubstr("3:5: run.steps is a table: keys are written section.key"),
                    HasSubstr("5:11: optimizer.lr is a table")));
}

TEST_F(GridTest, TwoPointsOfOneConfiguration) {
  EXPECT_THAT(Mistake("config = \"catch.toml\"\n[grid]\noptimizer.lr = [1, 0.5, 1.0]\n"),
              HasSubstr("the points lr=1 and lr=1.0 are the same configuration"));
}

TEST_F(GridTest, ThePathOfAConfigurationMayLookLikeASentence) {
  dir_.Write("a: b/wrong.toml", "[run]\nsteps = 0\n");
  EXPECT_THAT(Mistake("config = \"a: b/wrong.toml\"\n"),
              HasSubstr("a: b/wrong.toml:2:9: run.steps = 0 is out of range"));
}

TEST_F(GridTest, ASlipOfThePenIsNotTenMillionRuns) {
  std::string values;
  for (int i = 1; i <= 101; ++i) values += std::to_string(i) + ",";
  EXPECT_THAT(Mistake("config = \"catch.toml\"\nseeds = [1]\n[grid]\nstaleness.bound = [" + values +
                      "]\ncheckpoint.every_steps = [" + values + "]\n"),
              HasSubstr("the grid has more than 10000 runs"));  // 101 x 101 = 10,201
}

TEST_F(GridTest, RunsSideBySideOnOnePort) {
  const ReservedPort port;
  const std::string set = "[set]\nstatus.port = " + std::to_string(port.port()) + "\n";
  EXPECT_THAT(Mistake("config = \"catch.toml\"\nat_once = 2\n" + set),
              AllOf(HasSubstr("at_once = 2 contradicts status.port = "),
                    HasSubstr("set at_once = 1 or status.port = 0")));
  EXPECT_EQ(Read("config = \"catch.toml\"\nat_once = 1\n" + set).points.size(), 1u);
}

}  // namespace
}  // namespace starling::sweep
