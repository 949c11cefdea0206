#include "tools/report/facet_grid.h"

#include <gmock/gmock.h>

namespace starling::report {
namespace {

using testing::ElementsAre;
using testing::Eq;
using testing::Optional;

// The groups keep pointers to their runs.
std::vector<results::LoadedRun> RunsOf(const std::vector<results::FlatConfig>& configs) {
  std::vector<results::LoadedRun> runs;
  for (results::FlatConfig config : configs) {
    config.emplace("env.name", "\"catch\"");
    runs.push_back({.dir = "", .state = results::RunState::kFinished, .config = config});
  }
  return runs;
}

results::FlatConfig Point(const std::string& bound, const std::string& actors) {
  return {{"staleness.bound", bound}, {"actors.count", actors}};
}

TEST(FacetGridTest, ValuesAreInOrderWithUnboundedLast) {
  EXPECT_THAT(InOrder({"unbounded", "16", "2", "16", "0"}),
              ElementsAre("0", "2", "16", "unbounded"));
  EXPECT_THAT(InOrder({"0.1", "1e-3", "-2"}), ElementsAre("-2", "1e-3", "0.1"));
  EXPECT_THAT(InOrder({"wait", "drop", "3"}), ElementsAre("3", "wait", "drop")) << "as they come";
}

// Two counts, three bounds; the point (4, 1) was not trained.
TEST(FacetGridTest, TheKeyWithFewerValuesGoesDown) {
  const std::vector<results::LoadedRun> runs =
      RunsOf({Point("\"unbounded\"", "16"), Point("\"unbounded\"", "4"), Point("0", "4"),
              Point("0", "16"), Point("1", "16")});
  std::vector<Group> groups = MakeGroups(runs);
  const std::optional<FacetGrid> grid = FacetGridOf(groups);
  ASSERT_TRUE(grid);
  EXPECT_EQ(grid->row_key, "actors.count");
  EXPECT_EQ(grid->column_key, "staleness.bound");
  EXPECT_THAT(grid->rows, ElementsAre("4", "16"));
  EXPECT_THAT(grid->columns, ElementsAre("0", "1", "unbounded"));
  EXPECT_THAT(grid->groups[0], ElementsAre(Optional(2u), Eq(std::nullopt), Optional(1u)));
  EXPECT_THAT(grid->groups[1], ElementsAre(Optional(3u), Optional(4u), Optional(0u)));
  EXPECT_EQ(grid->RowName(1), "actors.count = 16");
  EXPECT_EQ(grid->ColumnName(2), "bound = unbounded");

  StyleByColumn(*grid, groups);
  EXPECT_EQ(groups[0].style, 2u);
  EXPECT_EQ(groups[1].style, 2u) << "the same bound looks the same with 4 and with 16 actors";
  EXPECT_EQ(groups[4].style, 1u);
}

TEST(FacetGridTest, EnvironmentsGoDown) {
  std::vector<results::FlatConfig> configs;
  for (const char* env : {"\"b\"", "\"a\"", "\"c\""}) {
    for (const char* bound : {"4", "0"}) {
      configs.push_back({{"env.name", env}, {"staleness.bound", bound}});
    }
  }
  const std::vector<results::LoadedRun> runs = RunsOf(configs);
  const std::optional<FacetGrid> grid = FacetGridOf(MakeGroups(runs));
  ASSERT_TRUE(grid);
  EXPECT_TRUE(grid->rows_are_envs());
  EXPECT_THAT(grid->rows, ElementsAre("b", "a", "c"));
  EXPECT_THAT(grid->columns, ElementsAre("0", "4"));
}

TEST(FacetGridTest, OneKeyOrThreeAreNoGrid) {
  const std::vector<results::LoadedRun> one = RunsOf({Point("0", "4"), Point("1", "4")});
  EXPECT_FALSE(FacetGridOf(MakeGroups(one)));
  std::vector<results::FlatConfig> cube;
  for (int i = 0; i < 8; ++i) {
    cube.push_back(Point(std::to_string(i & 1), std::to_string(i >> 1 & 1)));
    cube.back()["loss.gamma"] = std::to_string(i >> 2);
  }
  const std::vector<results::LoadedRun> three = RunsOf(cube);
  EXPECT_FALSE(FacetGridOf(MakeGroups(three)));
  EXPECT_FALSE(FacetGridOf({}));
}

}  // namespace
}  // namespace starling::report
