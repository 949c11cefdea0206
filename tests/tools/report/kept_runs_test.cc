#include "tools/report/kept_runs.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "core/config/config.h"
#include "core/error.h"
#include "tests/tools/report/loaded_runs.h"
#include "tools/report/report.h"

namespace starling::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// A run of a real configuration, with everything that a row has.
results::LoadedRun WholeRun(const std::string& toml, const std::string& seed) {
  results::FlatConfig config = results::Flatten(ToToml(Config{}));
  for (const auto& [key, value] : results::Flatten(toml)) config[key] = value;
  config["run.seed"] = seed;
  results::LoadedRun run = RunOf(config);
  run.config["env.name"] = "\"minatar/breakout\"";
  run.dir = "sweeps/a, \"b\"/seed-" + seed;
  run.varied = {"env.name", "net.hidden"};
  run.simulated = true;
  run.problems = {"said \"no\",\ntwice"};
  run.metrics = {{50, 0.5, {}}, {100, 1, 4.25}, {200, 2, 8.5}};
  run.evals = {{.steps = 200, .mean_return = 7.5}};
  run.final_eval = {
      .checkpoint = {}, .played = {.episodes = 30, .greedy = true}, .mean_return = 9.25};
  run.summary.emplace();
  run.summary->steps = 200;
  run.summary->updates = 12;
  run.summary->episodes = 31;
  run.summary->seconds = 2;
  run.summary->steps_per_second = 100;
  run.summary->mean_return = 8.5;
  run.summary->gradients.applied = 9;
  run.summary->gradients.dropped = {{"too old", 3}};
  run.summary->staleness = {.max = 1, .mean = 0.25, .histogram = {9, 3}};
  return run;
}

constexpr char kWide[] = "[net]\nhidden = [128, 64]\n[optimizer]\nlr = 4e-3\n";
constexpr char kFree[] = "[staleness]\nbound = \"unbounded\"\n[checkpoint]\nexact = true\n";

std::vector<Part> WholeParts() {
  std::vector<Part> parts = {
      {.name = "2024", .runs = {WholeRun(kWide, "1"), WholeRun(kWide, "1"), WholeRun(kFree, "1")}},
      {.name = "true", .runs = {WholeRun(kFree, "2")}}};
  parts[0].runs.push_back({.dir = "torn", .state = results::RunState::kDamaged});
  MarkRepeated(parts[0].runs);
  return parts;
}

std::string Mistake(const std::string& file, const std::string& text) {
  try {
    ParseKeptRuns(file, text);
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

TEST(KeptRunsTest, ARowAgainIsTheSameRow) {
  const auto rows = DataRows(WholeParts(), {});
  const std::string csv = ToCsv(rows), json = ToJsonText(rows);
  EXPECT_EQ(ToJsonText(DataRows(ParseKeptRuns("x.json", json), {})), json);
  EXPECT_EQ(ToCsv(DataRows(ParseKeptRuns("x.csv", csv), {})), csv);
  EXPECT_EQ(ToCsv(DataRows(ParseKeptRuns("x.json", json), {})), csv);
}

TEST(KeptRunsTest, TheConfigurationIsWhole) {
  const auto parts = ParseKeptRuns("x.csv", ToCsv(DataRows(WholeParts(), {})));
  ASSERT_EQ(parts.size(), 2u);
  const results::LoadedRun& run = parts[0].runs[0];
  EXPECT_EQ(run.config, WholeRun(kWide, "1").config);
  EXPECT_THAT(run.varied, ElementsAre("env.name", "net.hidden"));
  std::vector<results::LoadedRun> both = {run, WholeRun(kWide, "3"), parts[1].runs[0]};
  EXPECT_EQ(MakeGroups(both).size(), 2u) << "a run of a directory is in the group of the kept one";
}

TEST(KeptRunsTest, ARepeatedRunDoesNotCountAgain) {
  auto runs = ParseKeptRuns("x.csv", ToCsv(DataRows(WholeParts(), {})))[0].runs;
  runs.push_back(WholeRun(kWide, "1"));
  MarkRepeated(runs);
  EXPECT_TRUE(runs[0].counts());
  EXPECT_FALSE(runs[1].counts());
  EXPECT_EQ(runs[1].problems.size(), 1u) << "the remark is there once";
  EXPECT_FALSE(runs.back().counts());
}

// As spreadsheets write them.
TEST(KeptRunsTest, LinesMayEndAsInOtherPrograms) {
  const std::string head = "part,run,state,counts,simulated,env,seed,steps";
  const auto parts = ParseKeptRuns(
      "x.csv", head + "\r\n,\"a\",unfinished,false,false,catch,1,10\r\n,b,failed,false,false,,,0");
  ASSERT_EQ(parts.size(), 1u);
  ASSERT_EQ(parts[0].runs.size(), 2u);
  EXPECT_EQ(parts[0].runs[0].dir, "a");
  EXPECT_FALSE(parts[0].runs[0].summary.has_value());
  EXPECT_TRUE(parts[0].runs[1].config.empty());
}

TEST(KeptRunsTest, WhatIsNoSuchFileIsNamed) {
  const std::string head = "part,run,state,counts,simulated,env,seed,steps\n";
  EXPECT_THAT(Mistake("x.csv", head + ",a,finished,true,false,catch,1\n"),
              HasSubstr("x.csv: row 1 has 7 fields, the head has 8; give a file that starling "
                        "report --data wrote"));
  EXPECT_THAT(Mistake("x.csv", head + ",a,done,true,false,catch,1,10\n"),
              HasSubstr("x.csv, row 1: there is no state \"done\""));
  EXPECT_THAT(Mistake("x.csv", head + ",a,finished,perhaps,false,catch,1,10\n"),
              HasSubstr("x.csv, row 1: "));
  EXPECT_THAT(Mistake("x.csv", head + ",a,finished,true,false,catch,1,10\n"),
              HasSubstr("x.csv, row 1: a run that has finished has numbers"));
  EXPECT_THAT(Mistake("x.csv", head + ",\"a,finished\n"), HasSubstr("the file is cut"));
  EXPECT_THAT(Mistake("x.csv", "step,return\n1,2\n"), HasSubstr("x.csv, row 1: "));
  EXPECT_THAT(Mistake("x.csv", head), HasSubstr("x.csv has no run in it"));
  EXPECT_THAT(Mistake("x.csv", ""), HasSubstr("x.csv has no run in it"));
  EXPECT_THAT(Mistake("x.json", "[{\"part\""), HasSubstr("x.json: "));
  EXPECT_THAT(Mistake("x.json", "{}"), HasSubstr("x.json: "));
  EXPECT_THAT(Mistake("x.json", "[4]"), HasSubstr("x.json, row 1: "));
}

}  // namespace
}  // namespace starling::report
