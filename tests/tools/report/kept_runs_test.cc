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

// A run with everything that a row has.
results::LoadedRun WholeRun(const std::string& toml, const std::string& seed) {
  results::LoadedRun run = WholeRunOf(toml);
  run.config["run.seed"] = seed;
  run.config["env.name"] = "\"minatar/breakout\"";
  run.dir = "sweeps/a, \"b\"/seed-" + seed;
  run.varied = {"env.name", "net.hidden"};
  run.simulated = true;
  run.problems = {"said \"no\",\ntwice"};
  run.metrics = {{50, 0.5, {}, 0}, {100, 1, 4.25, 100}, {200, 2, 8.5, 200}};
  run.evals = {{.steps = 150, .mean_return = 7.5}};
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
constexpr char kFree[] =
    "[staleness]\nbound = \"unbounded\"\n[checkpoint]\nexact = true\n[env]\noptions = "
    "'{\"a\": [1, 2]}'\n[run]\ninit_from = \"7\"\nnotes = \"[x\"\n";

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
  EXPECT_EQ(parts[1].runs[0].config, WholeRun(kFree, "2").config);
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

TEST(KeptRunsTest, ARunBeforeItsHundredthEpisodeIsAtItsLastStep) {
  std::vector<Part> parts = {{.name = "", .runs = {WholeRun(kWide, "1")}}};
  results::LoadedRun& run = parts[0].runs[0];
  run.state = results::RunState::kUnfinished;
  run.summary.reset();
  run.metrics = {{100, 1, 4.25, 50}};
  const auto kept = ParseKeptRuns("x.csv", ToCsv(DataRows(parts, {})));
  EXPECT_EQ(kept[0].runs[0].steps(), 100);
  EXPECT_EQ(TimeTo(3, kept[0].runs[0]).reached.has_value(), false);
}

constexpr char kHead[] = "part,run,state,counts,simulated,varied,env,seed,steps,staleness.bound\n";

TEST(KeptRunsTest, SpreadsheetsMaySaveIt) {
  const auto runs = ParseKeptRuns("x.csv",
                                  "\xEF\xBB\xBF"
                                  "part,run,state,counts,simulated,varied,env,seed,steps,run.steps,"
                                  "optimizer.lr\r\n"
                                  "\"\",\"a\",unfinished,FALSE,TRUE,,catch,1,10,1E+06,1\r\n\r\n")[0]
                        .runs;
  ASSERT_EQ(runs.size(), 1u);
  EXPECT_EQ(runs[0].dir, "a");
  EXPECT_TRUE(runs[0].simulated);
  EXPECT_EQ(runs[0].Key("run.steps"), "1000000");
  EXPECT_EQ(runs[0].Key("optimizer.lr"), "1.0");
  EXPECT_FALSE(runs[0].summary.has_value());
}

TEST(KeptRunsTest, WhatIsNoSuchFileIsNamed) {
  const auto mistake_of = [](const std::string& row) { return Mistake("x.csv", kHead + row); };
  EXPECT_THAT(mistake_of(",a,finished,true,false,,catch,1,10\n"),
              HasSubstr("x.csv: row 1 has 9 fields, the head has 10; give a file that starling "
                        "report --data wrote"));
  EXPECT_THAT(mistake_of(",a,done,true,false,,catch,1,10,0\n"),
              HasSubstr("x.csv, row 1: there is no state \"done\""));
  EXPECT_THAT(mistake_of(",a,finished,7,false,,catch,1,10,0\n"), HasSubstr("counts cannot be 7"));
  EXPECT_THAT(mistake_of(",a,finished,maybe,false,,catch,1,10,0\n"),
              HasSubstr("counts cannot be \"maybe\""));
  EXPECT_THAT(mistake_of(",a,finished,,false,,catch,1,10,0\n"),
              HasSubstr("there is no value of counts"));
  EXPECT_THAT(mistake_of(",a,finished,true,false,,catch,1,10,0\n"),
              HasSubstr("x.csv, row 1: a run that has finished has numbers"));
  EXPECT_THAT(mistake_of(",\"a,finished\n"), HasSubstr("the file is cut"));
  EXPECT_THAT(Mistake("x.csv", "part,run,state,counts,simulated,env,seed\n,a,failed,0,0,catch,1\n"),
              HasSubstr("there is no column varied; an older Starling did not write all of them"));
  EXPECT_THAT(Mistake("x.csv", "step,return\n1,2\n"), HasSubstr("there is no column part"));
  EXPECT_THAT(mistake_of(""), HasSubstr("x.csv has no run in it"));
  EXPECT_THAT(Mistake("x.csv", ""), HasSubstr("x.csv has no run in it"));
  EXPECT_THAT(Mistake("x.json", "[{\"part\""), HasSubstr("x.json: "));
  EXPECT_THAT(Mistake("x.json", "{}"), HasSubstr("x.json: it is no list"));
  EXPECT_THAT(Mistake("x.json", "[4]"), HasSubstr("x.json, row 1: there is no column part"));
  EXPECT_THAT(Mistake("x.json", std::string(100'000, '[') + std::string(100'000, ']')),
              HasSubstr("x.json, row 1: there is no column part"));
}

TEST(KeptRunsTest, ACurveThatCannotBeIsNamed) {
  const auto mistake_of = [](const std::string& curve) {
    return Mistake("x.csv",
                   "part,run,state,counts,simulated,varied,env,seed,curve_steps,curve_seconds,"
                   "curve_return\n,a,failed,false,false,,catch,1," +
                       curve + "\n");
  };
  EXPECT_EQ(mistake_of("1 2,1 2,null 4"), "");
  EXPECT_THAT(mistake_of("1 2,1,null 4"), HasSubstr("lists of its curve are not of one length"));
  EXPECT_THAT(mistake_of("2 1,1 2,null 4"), HasSubstr("the steps of its curve do not ascend"));
  EXPECT_THAT(mistake_of("1 2,1 -2,null 4"), HasSubstr("seconds cannot be -2"));
}

}  // namespace
}  // namespace starling::report
