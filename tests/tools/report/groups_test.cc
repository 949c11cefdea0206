#include "tools/report/groups.h"

#include <gmock/gmock.h>

namespace starling::report {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

results::LoadedRun RunOf(results::FlatConfig config,
                         results::RunState state = results::RunState::kFinished) {
  config.emplace("env.name", "\"catch\"");
  results::LoadedRun run;
  run.state = state;
  run.config = std::move(config);
  return run;
}

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

TEST(GroupsTest, WhatIsSimulatedIsToldBeforeOtherKeys) {
  const auto telling =
      TellingKeys({{"actors.count", {"4", "1024"}}, {"simulated", {"false", "true"}}}, 2);
  ASSERT_THAT(telling, SizeIs(1));
  EXPECT_EQ(telling[0].key, "simulated");
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

// The numbers of gradients follow from bound and actors, and split more than either of them.
TEST(GroupsTest, CausesComeBeforeWhatFollowsFromThem) {
  const auto telling = TellingKeys({{"actors.count", {"4", "4", "8", "8"}},
                                    {"staleness.bound", {"0", "1", "0", "1"}},
                                    {"updates.gradients", {"4", "2", "8", "4"}}},
                                   4);
  ASSERT_THAT(telling, SizeIs(2));
  EXPECT_EQ(telling[0].key, "actors.count");
  EXPECT_EQ(telling[1].key, "staleness.bound");
}

TEST(GroupsTest, ASeedCountsOnce) {
  std::vector<results::LoadedRun> runs = {RunOf({{"run.seed", "1"}, {"run.dir", "x"}}),
                                          RunOf({{"run.seed", "1"}, {"run.dir", "y"}}),
                                          RunOf({{"run.seed", "2"}, {"run.dir", "z"}})};
  runs[0].dir = "x";
  MarkRepeated(runs);
  EXPECT_TRUE(runs[1].repeated);
  EXPECT_THAT(runs[1].troubles,
              ElementsAre("the same configuration and seed as x: that one counts"));
  EXPECT_THAT(MakeGroups(runs)[0].Finished(), ElementsAre(&runs[0], &runs[2]));
}

TEST(GroupsTest, FewKeysTellAllGroupsApart) {
  // updates.in_flight follows from the bound, and adds nothing.
  const std::vector<KeyDifference> differences = {{"staleness.bound", {"0", "4", "0", "4"}},
                                                  {"optimizer.lr", {"0.1", "0.1", "0.2", "0.2"}},
                                                  {"updates.in_flight", {"1", "2", "1", "2"}}};
  const std::vector<KeyDifference> telling = TellingKeys(differences, 4);
  ASSERT_THAT(telling, SizeIs(2));
  EXPECT_EQ(telling[0].key, "staleness.bound");
  EXPECT_EQ(telling[1].key, "optimizer.lr");
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

}  // namespace
}  // namespace starling::report
