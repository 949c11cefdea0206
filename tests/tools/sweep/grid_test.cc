// Grids that are read, and the mistakes that they are refused with.
#include "tools/sweep/grid.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>

#include "core/safetensors.h"
#include "learner/storage/checkpoint.h"
#include "tests/results/first_checkpoint.h"
#include "tests/support/plain_tcp.h"
#include "tests/tools/sweep/grid_fixture.h"

namespace starling::sweep {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::SizeIs;

TEST_F(GridTest, DefaultsAreThreeSeedsOneAtATime) {
  const Grid grid = Read("config = \"catch.toml\"\n");
  EXPECT_EQ(grid.config, dir_ / "catch.toml");
  EXPECT_EQ(grid.dir, "sweeps/mine");
  EXPECT_EQ(grid.at_once, 1);
  EXPECT_THAT(grid.seeds, ElementsAre(1, 2, 3));
  EXPECT_EQ(grid.eval, (results::EvalPlan{100, false}));
  ASSERT_THAT(grid.points, SizeIs(1));
  EXPECT_EQ(grid.points[0].name, "base");
  EXPECT_EQ(grid.points[0].config.env.name, "catch");
}

// Two bounds and two rates are four points, the last key fastest; [set] precedes [grid].
TEST_F(GridTest, PointsAreTheProductInTheOrderOfTheFile) {
  const Grid grid = Read(
      "config = \"catch.toml\"\nat_once = 2\nseeds = [7]\neval_episodes = 0\neval_greedy = true\n"
      "dir = \"there\"\n"
      "[set]\nrun.steps = 500\n"
      "[grid]\nstaleness.bound = [4, \"unbounded\"]\noptimizer.lr = [1e-3, 0.01]\n");
  EXPECT_EQ(grid.at_once, 2);
  EXPECT_THAT(grid.seeds, ElementsAre(7));
  EXPECT_EQ(grid.eval, (results::EvalPlan{0, true}));
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

// The weights of the source may move on: every run starts from the same.
TEST_F(GridTest, WeightsToStartFromAreOneCheckpoint) {
  const Config config = LoadConfig(dir_ / "catch.toml");
  learner::WriteCheckpoint(dir_ / "source/checkpoints", results::FirstCheckpoint(config));
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

TEST_F(GridTest, NobodyHereCanPlayWithAnExternalNet) {
  const std::vector<float> weight(1);
  const std::vector<TensorView> tensors = {ViewF32("w", {1}, weight)};
  WriteSafetensors(dir_ / "m.safetensors", tensors);
  dir_.Write("net.toml", fmt::format("[net]\nkind = \"external\"\ninitial = \"{}\"\n",
                                     (dir_ / "m.safetensors").string()));
  EXPECT_THAT(ErrorOf([&] { Read("config = \"net.toml\"\n"); }),
              HasSubstr("eval_episodes = 100 contradicts net.kind = \"external\""));
  EXPECT_EQ(Read("config = \"net.toml\"\neval_episodes = 0\n").points.size(), 1u);
}

TEST_F(GridTest, ADirectoryThatLooksLikeAnOption) {
  EXPECT_EQ(Read("config = \"catch.toml\"\ndir = \"-x\"\n").dir, "./-x");
}

TEST(ShippedGridsTest, AreWithoutMistakes) {
  int grids = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(
           std::filesystem::path(STARLING_SOURCE_DIR) / "configs/sweeps")) {
    if (entry.is_directory()) continue;
    EXPECT_GE(ReadGrid(entry.path()).points.size(), 2u) << entry.path();
    ++grids;
  }
  EXPECT_GE(grids, 1);
}

using testing::Not;

// All mistakes at once: keys, ranges, duplicates, types.
TEST_F(GridTest, EveryMistakeOfAGridIsALineInTheOrderOfTheFile) {
  EXPECT_EQ(
      Mistake("config = \"catch.toml\"\n"
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
      "simulate, seeds, eval_episodes, eval_greedy, set, grid, where; did you mean \"seeds\"?\n"
      "mine.toml:3:11: at_once = 0 is not allowed; allowed: an integer from 1 to 64\n"
      "mine.toml:4:13: a seed = -1 is not allowed; allowed: an integer from 0 to "
      "9223372036854775807\n"
      "mine.toml:4:17: seed 1 is listed twice\n"
      "mine.toml:6:5: unknown key run.stepps; keys of [run]: name, seed, steps, "
      "until_return, dir, init_from, metrics_s, tensorboard; did you mean \"steps\"?\n"
      "mine.toml:7:5: run.seed is set by the sweep: list them in seeds = [...]\n"
      "mine.toml:9:23: staleness.bound = -4 is out of range; allowed: an integer from 0 to "
      "1000000000000000 or \"unbounded\"\n"
      "mine.toml:10:32: staleness.on_exceed = \"wiat\" is not allowed; allowed: \"wait\" or "
      "\"drop\"; did you mean \"wait\"?\n"
      "mine.toml:11:14: loss.gamma = 0.9 is no list of values: write [...], or put one value "
      "for all runs under [set]");
}

struct WrongGrid {
  const char* rest;  // behind config = "catch.toml" in the first line
  std::vector<const char*> says;
  int lines = 1;
};

TEST_F(GridTest, EveryMistakeIsLocated) {
  const WrongGrid grids[] = {
      // An unknown key is one mistake, not one for each of the four points that have it.
      {"[grid]\nstaleness.boud = [0, 4]\nloss.gamma = [0.9, 0.99]\n",
       {"mine.toml:3:11: unknown key staleness.boud", "did you mean \"bound\"?"}},
      // Simulations.
      {"simulate = true\n[grid]\nlearner.apply = [\"lanes\", \"hogwild\"]\n",
       {"mine.toml:4:27: learner.apply = \"hogwild\" cannot be simulated"}},
      {"[grid]\nsimulate.stragglers = [0, 1]\n",
       {"simulate.stragglers varies, and training reads none of it"}},
      {"simulate = 1\n", {"mine.toml:2:12: simulate = 1 is not allowed; allowed: true, false"}},
      {"[simulate]\nstragglers = 1\n",
       {"keys of the section simulate stand under [set] or [grid]"}},
      // Values that are right by themselves, and wrong in a point.
      {"[set]\nupdates.in_flight = 2\n[grid]\nstaleness.bound = [4, 0]\n",
       {"mine.toml:3:21: updates.in_flight = 2 contradicts staleness.bound = 0"}},
      {"[grid]\nenv.name = [\"catch\", \"cach\"]\n",
       {"mine.toml:3:22: env.name: there is no env \"cach\"", "catch"}},
      // Equal values and equal points.
      {"[grid]\nstaleness.bound = [4, 0, 4]\n",
       {"mine.toml:3:26: staleness.bound = 4 is listed twice"}},
      {"[grid]\nwire.runtime_dir = [\"/a/b\", \"a-b\"]\n", {"would both be called \"a-b\""}, 3},
      {"[set]\nloss.gamma = 0.9\n[grid]\nloss.gamma = [0.9]\n",
       {"mine.toml:5:6: loss.gamma stands here twice (mine.toml:3:6)"}},
      {"[grid]\nstaleness.bound = [0]\n\"staleness.bound\" = [4]\n",
       {"mine.toml:4:1: staleness.bound stands here twice (mine.toml:3:11)"}},
      {"[set]\nloss.gamma = 0.9\n\"loss.gamma\" = 0.8\n",
       {"mine.toml:4:1: loss.gamma stands here twice (mine.toml:3:6)"}},
      {"[grid]\noptimizer.lr = [1, 0.5, 1.0]\n",
       {"the points lr=1 and lr=1.0 are the same configuration"}},
      // Keys in the wrong place.
      {"staleness.bound = [0, 4]\n",
       {"mine.toml:2:1: staleness is a section of a configuration: write its keys under [grid]"}},
      {"[grid]\nbound = [0, 4]\n", {"mine.toml:3:1: bound stands outside of every section"}},
      {"[grid]\nrun.name = [\"a\"]\nrun.dir = [\"b\"]\n",
       {"3:5: run.name is set by the sweep: runs are named after their point",
        "4:5: run.dir is set by the sweep: every run has a directory of its own"},
       2},
      {"[set]\nrun.steps.x = 3\n[grid]\noptimizer.lr.x = [1]\n",
       {"3:5: run.steps is a table: keys are written section.key", "5:11: optimizer.lr is a table"},
       2},
      // Values of the grid itself; a shell reads some paths in another way.
      {"dir = \"\"\nseeds = [1.5]\neval_episodes = -1\n",
       {"2:7: dir = \"\" is not allowed; allowed: a path",
        "3:10: a seed = 1.5 is not allowed; allowed: an integer from 0",
        "4:17: eval_episodes = -1 is not allowed; allowed: an integer from 0 to 10000000"},
       3},
      {"eval_greedy = 1\n", {"2:15: eval_greedy = 1 is not allowed; allowed: true, false"}},
      {"[eval_greedy]\nx = 1\n", {"is not allowed; allowed: true, false"}},
      {"dir = \"~/sweeps\"\n", {"2:7: dir = "}},
      {"dir = \"a\\nb\"\n", {"2:7: dir = "}},
  };
  for (const auto& [rest, says, lines] : grids) {
    const std::string said = Mistake(std::string("config = \"catch.toml\"\n") + rest);
    for (const char* part : says) EXPECT_THAT(said, HasSubstr(part));
    EXPECT_EQ(1 + std::ranges::count(said, '\n'), lines) << said;
  }
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
  EXPECT_THAT(Mistake("config = = 3\n"), HasSubstr("mine.toml:1:10: "));
  EXPECT_THAT(Mistake("config = 3\nseeds = []\ngrid = 4\n"),
              AllOf(HasSubstr("1:10: config = 3 is not allowed"), Not(HasSubstr("missing")),
                    HasSubstr("2:9: seeds = [] is not allowed"),
                    HasSubstr("3:8: grid is a section: write [grid]")));
}

TEST_F(GridTest, AGridThatCannotBeRead) {
  const auto said = [](const std::filesystem::path& path) -> std::string {
    return ErrorOf([&] { ReadGrid(path); });
  };
  EXPECT_THAT(said(dir_ / "absent.toml"),
              HasSubstr("absent.toml cannot be read: No such file or directory"));
  EXPECT_THAT(said(dir_.path()), HasSubstr(" is a directory; give the TOML file of a grid"));
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
