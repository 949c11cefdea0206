#include "fleet/sweep/grid.h"

#include <gmock/gmock.h>

#include "core/error.h"
#include "fleet/blueprint.h"
#include "learner/checkpoint.h"
#include "learner/counters.h"
#include "tests/support/temp_dir.h"

namespace starling::fleet {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::Pair;
using testing::SizeIs;

class GridTest : public testing::Test {
 protected:
  GridTest() {
    dir_.Write("catch.toml",
               "[run]\nsteps = 1000\n[env]\nname = \"catch\"\n[net]\nkind = \"mlp\"\n");
  }
  Grid Read(const std::string& text) const { return ReadGrid(dir_.Write("mine.toml", text)); }
  // What is said, the test's directory aside.
  std::string Mistake(const std::string& text) const {
    try {
      Read(text);
    } catch (const UserError& error) {
      std::string said = error.what();
      const std::string dir = dir_.path().string() + "/";
      for (std::size_t at = 0; (at = said.find(dir)) != std::string::npos;)
        said.erase(at, dir.size());
      return said;
    }
    ADD_FAILURE() << "no mistake found in\n" << text;
    return "";
  }
  TempDir dir_;
};

TEST_F(GridTest, DefaultsAreThreeSeedsOneAtATime) {
  const Grid grid = Read("config = \"catch.toml\"\n");
  EXPECT_EQ(grid.config, dir_ / "catch.toml");
  EXPECT_EQ(grid.dir, "sweeps/mine");
  EXPECT_EQ(grid.at_once, 1);
  EXPECT_THAT(grid.seeds, ElementsAre(1, 2, 3));
  EXPECT_EQ(grid.eval_episodes, 100);
  ASSERT_THAT(grid.points, SizeIs(1));
  EXPECT_EQ(grid.points[0].name, "base");
  EXPECT_EQ(grid.points[0].config.env.name, "catch");
}

// Two bounds and two rates are four points, the last key fastest; [set] comes before [grid].
TEST_F(GridTest, PointsAreTheProductInTheOrderOfTheFile) {
  const Grid grid = Read(
      "config = \"catch.toml\"\nat_once = 2\nseeds = [7]\neval_episodes = 0\ndir = \"there\"\n"
      "[set]\nrun.steps = 500\n"
      "[grid]\nstaleness.bound = [4, \"unbounded\"]\noptimizer.lr = [1e-3, 0.01]\n");
  EXPECT_EQ(grid.at_once, 2);
  EXPECT_THAT(grid.seeds, ElementsAre(7));
  EXPECT_EQ(grid.eval_episodes, 0);
  EXPECT_EQ(grid.dir, "there");
  std::vector<std::string> names;
  for (const GridPoint& point : grid.points) names.push_back(point.name);
  EXPECT_THAT(names, ElementsAre("bound=4,lr=0.001", "bound=4,lr=0.01", "bound=unbounded,lr=0.001",
                                 "bound=unbounded,lr=0.01"));
  const GridPoint& third = grid.points[2];
  EXPECT_THAT(third.varied,
              ElementsAre(Pair("staleness.bound", "\"unbounded\""), Pair("optimizer.lr", "0.001")));
  EXPECT_EQ(third.config.staleness.bound, kUnbounded);
  EXPECT_EQ(third.config.optimizer.lr, 0.001);
  EXPECT_EQ(third.config.run.steps, 500u);
}

TEST_F(GridTest, KeysInSectionsAndInQuotesAreTheSame) {
  for (const char* keys :
       {"[grid.staleness]\nbound = [0, 4]\n", "[grid]\n\"staleness.bound\" = [0, 4]\n",
        "[grid]\nstaleness = { bound = [0, 4] }\n"}) {
    EXPECT_THAT(Read(std::string("config = \"catch.toml\"\n") + keys).points, SizeIs(2)) << keys;
  }
}

TEST_F(GridTest, AValueMayItselfBeAList) {
  const Grid grid = Read("config = \"catch.toml\"\n[grid]\nnet.hidden = [[64], [32, 16]]\n");
  ASSERT_THAT(grid.points, SizeIs(2));
  EXPECT_EQ(grid.points[1].name, "hidden=32-16");
  EXPECT_THAT(grid.points[1].config.net.hidden, ElementsAre(32, 16));
}

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
            "mine.toml:2:1: unknown key seed; keys of a grid: config, dir, at_once, seeds, "
            "eval_episodes, set, grid; did you mean \"seeds\"?\n"
            "mine.toml:3:11: at_once = 0 is not allowed; allowed: an integer from 1 to 64\n"
            "mine.toml:4:13: a seed = -1 is not allowed; allowed: an integer from 0 to "
            "9223372036854775807\n"
            "mine.toml:4:17: seed 1 is listed twice\n"
            "mine.toml:6:5: unknown key run.stepps; keys of [run]: name, seed, steps, dir, "
            "init_from, tensorboard; did you mean \"steps\"?\n"
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

// The weights of the source may move on: every run starts from the same.
TEST_F(GridTest, WeightsToStartFromAreOneCheckpoint) {
  const Config config = LoadConfig(dir_ / "catch.toml");
  const learner::NetBlueprint net = BlueprintOf(config);
  learner::WriteCheckpoint(dir_ / "source/checkpoints", {.term = 1,
                                                         .version = 7,
                                                         .steps = 50,
                                                         .layout = net.layout,
                                                         .weights = net.initial,
                                                         .slot_names = {"square_avg"},
                                                         .state = {net.initial},
                                                         .config = ToToml(config),
                                                         .counters = learner::Counters{}.Save()});
  const std::string set =
      "config = \"catch.toml\"\n[set]\nrun.init_from = \"" + (dir_ / "source").string() + "\"\n";
  const Grid grid = Read(set);
  const std::string path =
      std::filesystem::canonical(learner::ListCheckpoints(dir_ / "source/checkpoints").front());
  EXPECT_EQ(grid.points[0].config.run.init_from, path);

  EXPECT_THAT(
      Mistake(set + "net.hidden = [3]\n"),
      AllOf(HasSubstr("mine.toml:3:17: "), HasSubstr("cannot be started from: its net has")));
  EXPECT_THAT(Mistake("config = \"catch.toml\"\n[grid]\nrun.init_from = [\"gone\"]\n"),
              HasSubstr("mine.toml:3:18: gone is neither a run directory nor a checkpoint"));
  dir_.Write("catch.toml", "[run]\ninit_from = \"gone\"\n[env]\nname = \"catch\"\n");
  EXPECT_THAT(Mistake("config = \"catch.toml\"\n"),
              HasSubstr("mine.toml:1:10: gone is neither a run directory nor a checkpoint"));
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

TEST_F(GridTest, ADirectoryThatLooksLikeAnOption) {
  EXPECT_EQ(Read("config = \"catch.toml\"\ndir = \"-x\"\n").dir, "./-x");
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

TEST(ShippedGridsTest, AreWithoutMistakes) {
  int grids = 0;
  for (const auto& entry : std::filesystem::directory_iterator(
           std::filesystem::path(STARLING_SOURCE_DIR) / "configs/sweeps")) {
    EXPECT_GE(ReadGrid(entry.path()).points.size(), 2u) << entry.path();
    ++grids;
  }
  EXPECT_GE(grids, 1);
}

}  // namespace
}  // namespace starling::fleet
