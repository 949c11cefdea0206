#include "tools/sweep/grid.h"

#include "learner/storage/checkpoint.h"
#include "tests/results/first_checkpoint.h"
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
  EXPECT_EQ(grid.eval_episodes, 100);
  ASSERT_THAT(grid.points, SizeIs(1));
  EXPECT_EQ(grid.points[0].name, "base");
  EXPECT_EQ(grid.points[0].config.env.name, "catch");
}

// Two bounds and two rates are four points, the last key fastest; [set] precedes [grid].
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

}  // namespace
}  // namespace starling::sweep
