#include "tools/report/groups.h"

#include <gmock/gmock.h>

#include "tests/tools/report/loaded_runs.h"

namespace starling::report {
namespace {

using testing::ElementsAre;
using testing::Eq;
using testing::IsEmpty;
using testing::Optional;
using testing::SizeIs;

std::vector<std::string> Labels(const std::vector<Group>& groups) {
  std::vector<std::string> labels;
  for (const Group& group : groups) labels.push_back(group.label);
  return labels;
}

TEST(GroupsTest, SeedNameAndDirectoryMakeNoDifference) {
  const std::vector<results::LoadedRun> runs = {
      RunOf({{"run.seed", "1"}, {"run.name", "a"}, {"run.dir", "x"}, {"staleness.bound", "4"}}),
      RunOf({{"run.seed", "1"}, {"run.name", "b"}, {"run.dir", "y"}, {"staleness.bound", "0"}}),
      RunOf({{"run.seed", "2"}, {"run.name", "c"}, {"run.dir", "z"}, {"staleness.bound", "4"}},
            results::RunState::kUnfinished)};
  const std::vector<Group> groups = MakeGroups(runs);
  EXPECT_THAT(Labels(groups), ElementsAre("bound = 4", "bound = 0"));
  EXPECT_THAT(groups[0].runs, ElementsAre(&runs[0], &runs[2]));
  EXPECT_THAT(groups[0].Finished(), ElementsAre(&runs[0]));
  EXPECT_THAT(groups[1].runs, ElementsAre(&runs[1]));
}

// Their seconds have nothing in common.
TEST(GroupsTest, SimulatedRunsAreNeverInOneGroupWithOthers) {
  std::vector<results::LoadedRun> runs(3, RunOf({{"run.seed", "1"}}));
  for (std::size_t i : {1u, 2u}) runs[i].simulated = true;
  runs[2].config["run.seed"] = "2";
  MarkRepeated(runs);
  EXPECT_FALSE(runs[1].repeated) << "another clock is not the same run again";
  const std::vector<Group> groups = MakeGroups(runs);
  EXPECT_THAT(Labels(groups), ElementsAre("simulated = false", "simulated = true"));
  EXPECT_THAT(groups[1].runs, ElementsAre(&runs[1], &runs[2]));
}

TEST(GroupsTest, ARunWithoutAConfigurationIsInNone) {
  std::vector<results::LoadedRun> runs(1);
  EXPECT_THAT(MakeGroups(runs), IsEmpty());
}

TEST(GroupsTest, DifferencesAreKeysThatDiffer) {
  const std::vector<results::LoadedRun> runs = {
      RunOf({{"staleness.bound", "0"}, {"updates.in_flight", "1"}, {"loss.gamma", "0.9"}}),
      RunOf({{"staleness.bound", "\"unbounded\""},
             {"updates.in_flight", "2"},
             {"loss.gamma", "0.9"}}),
      RunOf({{"staleness.bound", "4"}, {"loss.gamma", "0.9"}})};
  const std::vector<KeyDifference> differences = Differences(MakeGroups(runs));
  ASSERT_THAT(differences, SizeIs(2));
  EXPECT_EQ(differences[0].key, "staleness.bound");
  EXPECT_THAT(differences[0].values, ElementsAre("0", "\"unbounded\"", "4"));
  EXPECT_EQ(differences[1].key, "updates.in_flight");
  EXPECT_THAT(differences[1].values, ElementsAre("1", "2", ""));
}

TEST(GroupsTest, ASeedCountsOnce) {
  std::vector<results::LoadedRun> runs = {RunOf({{"run.seed", "1"}, {"run.dir", "x"}}),
                                          RunOf({{"run.seed", "1"}, {"run.dir", "y"}}),
                                          RunOf({{"run.seed", "2"}, {"run.dir", "z"}})};
  runs[0].dir = "x";
  MarkRepeated(runs);
  EXPECT_TRUE(runs[1].repeated);
  EXPECT_THAT(runs[1].problems,
              ElementsAre("the same configuration and seed as x: that one counts"));
  EXPECT_THAT(MakeGroups(runs)[0].Finished(), ElementsAre(&runs[0], &runs[2]));
}

TEST(GroupsTest, FewKeysTellAllGroupsApart) {
  const struct {
    std::vector<KeyDifference> differences;
    std::vector<std::string> told;
  } cases[] = {
      {{{"actors.count", {"4", "1024"}}, {"simulated", {"false", "true"}}}, {"simulated"}},
      // The numbers of gradients follow from bound and actors, and split more than either of them.
      {{{"actors.count", {"4", "4", "8", "8"}},
        {"staleness.bound", {"0", "1", "0", "1"}},
        {"updates.gradients", {"4", "2", "8", "4"}}},
       {"actors.count", "staleness.bound"}},
      // updates.in_flight follows from the bound, and adds nothing.
      {{{"staleness.bound", {"0", "4", "0", "4"}},
        {"optimizer.lr", {"0.1", "0.1", "0.2", "0.2"}},
        {"updates.in_flight", {"1", "2", "1", "2"}}},
       {"staleness.bound", "optimizer.lr"}},
      // A key that a sweep varies precedes a key that it sets for some points.
      {{{"loss.entropy", {"0.4", "0.2", "0.1"}}, {"staleness.bound", {"0", "4", "8"}, true}},
       {"staleness.bound"}},
      // A learning rate tuned for each bound follows from it.
      {{{"optimizer.lr", {"0.4", "0.2", "0.1"}}, {"staleness.bound", {"0", "4", "8"}}},
       {"staleness.bound"}},
  };
  for (const auto& [differences, told] : cases) {
    std::vector<std::string> keys;
    for (const KeyDifference& one : TellingKeys(differences, differences[0].values.size())) {
      keys.push_back(one.key);
    }
    EXPECT_EQ(keys, told);
  }
}

TEST(GroupsTest, TooManyKeysForALabelAreNumbers) {
  std::vector<results::LoadedRun> runs;
  for (int i = 0; i < 16; ++i) {
    results::FlatConfig config;
    for (int bit = 0; bit < 4; ++bit) {
      config["loss.k" + std::to_string(bit)] = std::to_string(i >> bit & 1);
    }
    runs.push_back(RunOf(config));
  }
  EXPECT_EQ(MakeGroups(runs)[15].label, "group 16");
}

std::vector<results::LoadedRun> RunsOf(const std::vector<results::FlatConfig>& configs) {
  std::vector<results::LoadedRun> runs;
  for (const results::FlatConfig& config : configs) runs.push_back(RunOf(config));
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
  EXPECT_EQ(grid->ColumnKey(), "staleness.bound");
  EXPECT_THAT(grid->rows, ElementsAre("4", "16"));
  EXPECT_THAT(grid->columns, ElementsAre("0", "1", "unbounded"));
  EXPECT_THAT(grid->groups[0], ElementsAre(Optional(2u), Eq(std::nullopt), Optional(1u)));
  EXPECT_THAT(grid->groups[1], ElementsAre(Optional(3u), Optional(4u), Optional(0u)));
  EXPECT_EQ(grid->RowName(1), "actors.count = 16");
  EXPECT_EQ(grid->column_names[2], "bound = unbounded");

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

// Numbers ascend within each key, and cells that no group has are empty.
TEST(FacetGridTest, BelowEnvironmentsSeveralKeysMakeAColumn) {
  std::vector<results::FlatConfig> configs;
  for (const char* env : {"\"b\"", "\"a\""}) {
    for (const char* delay : {"16", "4"}) {
      for (const char* correction : {"\"none\"", "\"gap\""}) {
        configs.push_back(
            {{"env.name", env}, {"staleness.delay", delay}, {"staleness.correction", correction}});
      }
    }
  }
  configs.pop_back();
  const std::vector<results::LoadedRun> runs = RunsOf(configs);
  const std::optional<FacetGrid> grid = FacetGridOf(MakeGroups(runs));
  ASSERT_TRUE(grid);
  EXPECT_EQ(grid->ColumnKey(), "staleness.delay, staleness.correction") << "quantities first";
  EXPECT_THAT(grid->columns, ElementsAre("4, none", "4, gap", "16, none", "16, gap"));
  EXPECT_EQ(grid->column_names[3], "delay, correction = 16, gap");
  EXPECT_THAT(grid->column_values[3], ElementsAre("16", "gap"));
  EXPECT_THAT(grid->groups[0], ElementsAre(Optional(2u), Optional(3u), Optional(0u), Optional(1u)));
  EXPECT_THAT(grid->groups[1],
              ElementsAre(Optional(6u), Eq(std::nullopt), Optional(4u), Optional(5u)));
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

TEST(GroupsTest, AnEarlierStateOfARunIsLeftOut) {
  using enum results::RunState;
  const auto run_at = [](const char* dir, results::RunState state, const char* bound) {
    results::LoadedRun run = RunOf({{"staleness.bound", bound}, {"run.dir", dir}}, state);
    run.dir = dir;
    return run;
  };
  std::vector<results::LoadedRun> runs = {run_at("a", kUnfinished, "4"),
                                          run_at("./a", kFailed, "4"),
                                          run_at("b", kUnfinished, "4"),
                                          run_at("b", kFinished, "4"),
                                          run_at("b", kFailed, "8"),
                                          run_at("b", kFailed, "4"),
                                          {.dir = "b"},
                                          {.dir = "c"}};
  RemoveOvertaken(runs);
  std::vector<std::string> kept;
  for (const results::LoadedRun& run : runs) {
    kept.push_back(run.dir.string() + " " + std::string(NameOf(run.state)) + " " +
                   run.Key("staleness.bound"));
  }
  EXPECT_THAT(kept,
              testing::ElementsAre("./a failed 4", "b finished 4", "b failed 8", "c not begun "));
}

}  // namespace
}  // namespace starling::report
