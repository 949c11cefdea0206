// Settings of some points of a grid, and some points of a sweep.
#include <gmock/gmock.h>

#include "tests/tools/sweep/grid_fixture.h"

namespace starling::sweep {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

const std::string kTwoByTwo =
    "config = \"catch.toml\"\n"
    "[set]\noptimizer.lr = 0.1\nloss.gamma = 0.5\n"
    "[grid]\nenv.name = [\"catch\", \"dummy\"]\nstaleness.bound = [0, 4, \"unbounded\"]\n";

class WhereTest : public GridTest {
 protected:
  // optimizer.lr of every point.
  std::vector<double> Rates(const std::string& wheres) const {
    std::vector<double> rates;
    for (const GridPoint& point : Read(kTwoByTwo + wheres).points) {
      rates.push_back(point.config.optimizer.lr);
    }
    return rates;
  }
};

TEST_F(WhereTest, SomePointsTakeOtherSettings) {
  EXPECT_THAT(Rates(""), ElementsAre(0.1, 0.1, 0.1, 0.1, 0.1, 0.1));
  EXPECT_THAT(Rates("[[where]]\nenv.name = \"dummy\"\nset.optimizer.lr = 0.2\n"),
              ElementsAre(0.1, 0.1, 0.1, 0.2, 0.2, 0.2));
  EXPECT_THAT(Rates("[[where]]\nstaleness.bound = [4, \"unbounded\"]\nenv.name = \"catch\"\n"
                    "[where.set.optimizer]\nlr = 0.2\n"),
              ElementsAre(0.1, 0.2, 0.2, 0.1, 0.1, 0.1));
}

TEST_F(WhereTest, LaterOnesPrecedeEarlierOnes) {
  EXPECT_THAT(Rates("[[where]]\nenv.name = \"dummy\"\nset.optimizer.lr = 0.2\n"
                    "[[where]]\nstaleness.bound = 0\nset.optimizer.lr = 0.3\n"),
              ElementsAre(0.3, 0.1, 0.1, 0.3, 0.2, 0.2));
}

// They are not in the names: a point is what the grid says it is.
TEST_F(WhereTest, NamesAreThoseOfTheGrid) {
  const Grid grid =
      Read(kTwoByTwo +
           "[[where]]\nenv.name = \"dummy\"\nset.net.kind = \"mlp\"\nset.net.hidden = [3, 4]\n");
  EXPECT_EQ(grid.points[3].name, "name=dummy,bound=0");
  EXPECT_EQ(grid.points[3].config.loss.gamma, 0.5);
  EXPECT_THAT(grid.points[3].config.net.hidden, ElementsAre(3, 4));
  EXPECT_EQ(grid.points[0].config.net.hidden.size(), 1u);
}

TEST_F(WhereTest, AValueMayItselfBeAList) {
  const std::string lists =
      "config = \"catch.toml\"\n[grid]\nnet.hidden = [[64], [32, 16]]\n[[where]]\n";
  const Grid grid = Read(lists + "net.hidden = [[32, 16]]\nset.optimizer.lr = 0.2\n");
  EXPECT_EQ(grid.points[1].config.optimizer.lr, 0.2);
  EXPECT_THAT(
      Mistake(lists + "net.hidden = [32, 16]\nset.optimizer.lr = 0.2\n"),
      HasSubstr("net.hidden = 32 is no value of [grid]; values that are lists are written"));
}

TEST_F(WhereTest, MistakesAreLocated) {
  const std::pair<const char*, std::vector<const char*>> mistakes[] = {
      {"[where]\nenv.name = \"catch\"\n", {"mine.toml:8:1: where is a list of sections"}},
      {"[[where]]\nenv.name = \"catch\"\n", {"mine.toml:8:1: [[where]] sets nothing"}},
      {"[[where]]\nset.loss.gamma = 0.5\n", {"mine.toml:8:1: [[where]] has no condition"}},
      {"[[where]]\nset.loss.gamma = 0.5\n[where.env]\n", {"mine.toml:8:1: [[where]] has no cond"}},
      {"[[where]]\nenv.name = \"catch\"\n[where.set]\n", {"8:1: [[where]] sets nothing"}},
      {"[[where]]\nloss.gamma = 0.5\nset.optimizer.lr = 1\n",
       {"mine.toml:9:6: loss.gamma is no key of [grid]"}},
      {"[[where]]\nstaleness.bound = [4, 5]\nset.optimizer.lr = 1\n",
       {"mine.toml:9:23: staleness.bound = 5 is no value of [grid]"}},
      {"[[where]]\nenv.name = \"catch\"\nset.staleness.bound = 4\n",
       {"mine.toml:10:15: staleness.bound stands here twice (mine.toml:7:11)"}},
      {"[[where]]\nenv.name = \"catch\"\n\"env.name\" = \"dummy\"\nset.loss.gamma = 1\n",
       {"mine.toml:10:1: env.name stands here twice (mine.toml:9:5)"}},
      {"[[where]]\nbound = 4\nset.loss.gamma = 1\n",
       {"mine.toml:9:1: bound stands outside of every section"}},
      {"[[where]]\nenv.name = []\nset.loss.gamma = 1\n", {"mine.toml:9:12: env.name = []"}},
      {"[[where]]\nenv.name = \"catch\"\nset.loss.gama = 1\n",
       {"mine.toml:10:10: unknown key loss.gama", "did you mean \"gamma\"?"}},
      {"[[where]]\nenv.name = \"catch\"\nset.loss.gamma = 7\n",
       {"mine.toml:10:18: loss.gamma = 7 is out of range"}},
      {"[[where]]\nenv.name = \"catch\"\nset.simulate.stragglers = 1\n",
       {"simulate.stragglers varies, and training reads none of it"}},
      {"[[where]]\nenv.name = \"catch\"\nset.run.seed = 7\n",
       {"mine.toml:10:9: run.seed is set by the sweep"}},
  };
  for (const auto& [where, says] : mistakes) {
    const std::string said = Mistake(kTwoByTwo + where);
    for (const char* part : says) EXPECT_THAT(said, HasSubstr(part)) << where;
    EXPECT_EQ(std::ranges::count(said, '\n'), 0) << said;
  }
}

std::vector<std::string> NamesOf(Grid grid, const std::vector<std::string>& only) {
  KeepOnly(grid, only);
  std::vector<std::string> names;
  for (const GridPoint& point : grid.points) names.push_back(point.name);
  return names;
}

TEST_F(WhereTest, OnlySomePoints) {
  const Grid grid = Read(kTwoByTwo);
  EXPECT_EQ(NamesOf(grid, {}).size(), 6u);
  EXPECT_THAT(
      NamesOf(grid, {"env.name=dummy"}),
      ElementsAre("name=dummy,bound=0", "name=dummy,bound=4", "name=dummy,bound=unbounded"));
  EXPECT_THAT(NamesOf(grid, {"staleness.bound=4", "env.name=\"catch\""}),
              ElementsAre("name=catch,bound=4"));
  EXPECT_THAT(NamesOf(grid, {"staleness.bound=unbounded", "env.name=catch", "staleness.bound=0"}),
              ElementsAre("name=catch,bound=0", "name=catch,bound=unbounded"));
}

TEST_F(WhereTest, OnlyValuesInAnyOfTheirSpellings) {
  const Grid grid = Read(
      "config = \"catch.toml\"\n[set]\nnet.kind = \"mlp\"\n"
      "[grid]\noptimizer.lr = [1e-3, 2e-3]\nnet.hidden = [[64, 64], [3]]\n");
  for (const char* rate : {"1e-3", "0.001", "1.0E-3"}) {
    EXPECT_THAT(NamesOf(grid, {std::string("optimizer.lr=") + rate}),
                ElementsAre("lr=0.001,hidden=64-64", "lr=0.001,hidden=3"))
        << rate;
  }
  for (const char* hidden : {"[64,64]", "[64, 64]", "64-64"}) {
    EXPECT_EQ(NamesOf(grid, {std::string("net.hidden=") + hidden}).size(), 2u) << hidden;
  }
}

TEST_F(WhereTest, OnlySomeSeeds) {
  Grid grid = Read(std::string("seeds = [1, 20, 3]\n") + kTwoByTwo);
  KeepOnly(grid, {"run.seed=3", "run.seed=1", "env.name=catch"});
  EXPECT_THAT(grid.seeds, ElementsAre(1, 3));
  EXPECT_EQ(grid.points.size(), 3u);
  EXPECT_EQ(ErrorOf([&] { KeepOnly(grid, {"run.seed=20"}); }),
            "--only run.seed=20: the values of run.seed in this grid are 1, 3");
}

TEST_F(WhereTest, OnlyWhatTheGridHas) {
  const Grid grid = Read(kTwoByTwo);
  const auto refusal = [&](const char* only) { return ErrorOf([&] { NamesOf(grid, {only}); }); };
  EXPECT_EQ(refusal("staleness.bund=4"),
            "--only staleness.bund=4: the keys of this grid are env.name, staleness.bound, "
            "run.seed; did you mean \"staleness.bound\"?");
  EXPECT_EQ(refusal("staleness.bound=5"),
            "--only staleness.bound=5: the values of staleness.bound in this grid are 0, 4, "
            "\"unbounded\"");
  EXPECT_EQ(refusal("staleness.bound"), "--only staleness.bound: write KEY=VALUE");
  EXPECT_THAT(refusal("=4"), HasSubstr("the keys of this grid are"));
}

}  // namespace
}  // namespace starling::sweep
