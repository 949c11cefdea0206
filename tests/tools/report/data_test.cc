#include "tools/report/report.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/tools/report/loaded_runs.h"

namespace starling::report {
namespace {

using nlohmann::ordered_json;
using testing::HasSubstr;
using testing::StartsWith;

results::LoadedRun FinishedRun(const std::string& bound, const std::string& seed) {
  results::LoadedRun run =
      WholeRunOf("[env]\nname = \"catch\"\n[run]\nseed = " + seed + "\nname = \"" + seed +
                 "\"\n[loss]\ngamma = 0.9\n[staleness]\nbound = " + bound + "\n");
  run.dir = "runs/b" + bound + "-" + seed;
  run.metrics = {{0, 0, {}}, {50, 1, 4.0}, {100, 2, 8.0}};
  run.summary.emplace();
  run.summary->steps = 100;
  run.summary->seconds = 2;
  run.summary->steps_per_second = 50;
  run.summary->mean_return = 8;
  run.summary->staleness = {.max = 2, .mean = 0.5, .histogram = {60, 30, 10}};
  run.summary->gradients.applied = 100;
  return run;
}

std::vector<Part> SomeParts() {
  std::vector<Part> parts = {
      {.name = "real", .runs = {FinishedRun("0", "1"), FinishedRun("4", "1")}},
      {.name = "virtual", .runs = {FinishedRun("4", "1")}}};
  parts[1].runs[0].simulated = true;
  return parts;
}

Targets TargetOf(const std::string& word) {
  Targets targets;
  targets.Add(word);
  return targets;
}

// The other numbers stand in the line of CSV below.
TEST(DataTest, ARowForEachRunWithKeysThatTellItAndItsCurve) {
  const auto rows = DataRows(SomeParts(), TargetOf("6"));
  ASSERT_EQ(rows.size(), 3u);
  const ordered_json& row = rows[1];
  EXPECT_EQ(row["run"], "runs/b4-1");
  EXPECT_EQ(row["staleness.bound"], 4);
  EXPECT_EQ(row["loss.gamma"], 0.9) << "all runs have the same, but it is not the default";
  EXPECT_FALSE(row.contains("loss.value_coef")) << "all have the default";
  EXPECT_FALSE(row.contains("run.name"));
  EXPECT_TRUE(row["final_eval_return"].is_null());
  EXPECT_EQ(row["curve"]["return"], ordered_json({nullptr, 4.0, 8.0}));
  EXPECT_EQ(row["curve"]["steps"], ordered_json({0.0, 50.0, 100.0}));
  EXPECT_EQ(rows[2]["part"], "virtual");
  EXPECT_EQ(rows[2]["simulated"], true);
}

TEST(DataTest, NeverIsNotUnknown) {
  std::vector<Part> parts = SomeParts();
  parts[0].runs[1].metrics.clear();
  const auto rows = DataRows(parts, TargetOf("9"));
  EXPECT_EQ(rows[0]["reached"], false);
  EXPECT_TRUE(rows[0]["seconds_to_score"].is_null());
  EXPECT_TRUE(rows[1]["reached"].is_null());
  EXPECT_TRUE(DataRows(parts, {})[0]["reached"].is_null()) << "no score was asked for";
}

TEST(DataTest, WhateverIsLeftOfARunHasARow) {
  std::vector<Part> parts = SomeParts();
  parts[0].runs.push_back(
      {.dir = "runs/torn", .state = results::RunState::kDamaged, .problems = {"a, \"b\""}});
  const auto rows = DataRows(parts, {});
  EXPECT_EQ(rows[2]["state"], "damaged");
  EXPECT_TRUE(rows[2]["env"].is_null());
  EXPECT_TRUE(rows[2]["seconds"].is_null());
  EXPECT_THAT(ToCsv(rows), HasSubstr(",\"a, \"\"b\"\"\",,,\n"));
}

// A configuration of another version: one table does not spoil the rows of the others.
TEST(DataTest, AValueThatIsATableIsText) {
  std::vector<Part> parts = SomeParts();
  parts[0].runs[0].config["net.body"] = "a = 1\nb = 2";
  const auto rows = DataRows(parts, {});
  EXPECT_EQ(rows[0]["net.body"], "a = 1\nb = 2");
  EXPECT_TRUE(rows[1]["net.body"].is_null());
  EXPECT_THAT(ToCsv(rows), HasSubstr(",\"a = 1\nb = 2\",")) << "in quotation marks";
}

TEST(DataTest, CsvHasAHeadAndALineForEachRun) {
  const std::string csv = ToCsv(DataRows(SomeParts(), TargetOf("6")));
  EXPECT_THAT(csv,
              StartsWith("part,group,run,state,counts,simulated,varied,env,seed,loss.gamma,"
                         "staleness.bound,steps,"
                         "updates,episodes,seconds,steps_per_second,training_return,"
                         "last_eval_return,last_eval_steps,final_eval_return,final_eval_episodes,"
                         "final_eval_greedy,score,reached,"
                         "steps_to_score,seconds_to_score,gradients_applied,gradients_dropped,"
                         "staleness_mean,staleness_max,staleness_histogram,remarks,"
                         "curve_steps,curve_seconds,curve_return\n"
                         "real,bound = 0,runs/b0-1,finished,true,false,,catch,1,0.9,0,100,0,0,2.0,"
                         "50.0,8.0,,,,,,6.0,true,75.0,1.5,100,0,0.5,2,60 30 10,,50 100,1 2,4 8\n"));
  EXPECT_EQ(std::ranges::count(csv, '\n'), 4);
}

TEST(DataTest, CsvHasTenPointsOfACurveWithItsEnds) {
  std::vector<Part> parts = SomeParts();
  auto& metrics = parts[0].runs[0].metrics = {{0, 0, {}}};
  for (int i = 1; i <= 100; ++i) metrics.push_back({1e5 * i, i / 3.0, i / 7.0});
  EXPECT_THAT(ToCsv(DataRows(parts, {})),
              HasSubstr(",100000 1200000 2300000 3400000 4500000 5600000 6700000 7800000 8900000 "
                        "10000000,0.3333 4 7.667 11.33 15 18.67 22.33 26 29.67 33.33,"
                        "0.1429 1.714 3.286 4.857 6.429 8 9.571 11.14 12.71 14.29\n"));
}

// The return of a few lucky episodes would reach every score.
TEST(DataTest, CsvHasReturnsOfAHundredEpisodes) {
  std::vector<Part> parts = SomeParts();
  parts[0].runs[0].metrics = {{10, 1, 9.0, 99}, {20, 2, 4.0, 100}, {30, 3, 5.0, 120}};
  parts[0].runs[1].metrics = {{10, 1, {}, 0}, {20, 2, 9.0, 99}};
  const std::string csv = ToCsv(DataRows(parts, {}));
  EXPECT_THAT(csv, HasSubstr(",20 30,2 3,4 5\n"));
  EXPECT_THAT(csv, HasSubstr(",20,2,null\n")) << "it has a curve, and never reached a score";
}

TEST(DataTest, AKeyThatSomeRunLacksIsTold) {
  std::vector<Part> parts = SomeParts();
  for (results::LoadedRun& run : parts[0].runs) run.config.erase("net.stages");
  const auto rows = DataRows(parts, {});
  EXPECT_TRUE(rows[0]["net.stages"].is_null());
  EXPECT_EQ(rows[2]["net.stages"], 1);
}

TEST(DataTest, StringsHaveQuotationMarksWhereTheyWouldBeAnotherValue) {
  std::vector<Part> parts = SomeParts();
  auto& runs = parts[0].runs;
  runs[0].config["env.options"] = R"('{"continuous": true}')";
  runs[1].config["env.options"] = R"("5")";
  const auto rows = DataRows(parts, {});
  EXPECT_EQ(rows[0]["env.options"], R"({"continuous": true})");
  EXPECT_EQ(rows[1]["env.options"], "5");
  const std::string csv = ToCsv(rows);
  EXPECT_THAT(csv, HasSubstr(R"(,"{""continuous"": true}",)"));
  EXPECT_THAT(csv, HasSubstr(R"(,"""5""",)"));
  EXPECT_THAT(csv, HasSubstr(R"(,"""""",)")) << "empty, but there";
}

TEST(DataTest, JsonIsAListOfObjects) {
  const auto rows = DataRows(SomeParts(), {});
  const ordered_json read = ordered_json::parse(ToJsonText(rows));
  ASSERT_EQ(read.size(), 3u);
  EXPECT_EQ(read[1], rows[1]);
}

}  // namespace
}  // namespace starling::report
