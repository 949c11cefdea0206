#include "tools/report/groups.h"

#include <gmock/gmock.h>

#include "core/error.h"
#include "tests/support/error_of.h"
#include "tests/tools/report/loaded_runs.h"
#include "tools/report/sections.h"

namespace starling::report {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

results::LoadedRun Scored(double training) {
  results::LoadedRun run = RunOf({});
  run.summary.emplace();
  run.summary->steps = 100;
  run.summary->steps_per_second = 10 * training;
  run.summary->mean_return = training;
  return run;
}

results::EvalLine Line(std::uint64_t steps, double mean_return) {
  results::EvalLine line;
  line.steps = steps;
  line.mean_return = mean_return;
  return line;
}

TEST(MeasureTest, TheBestThatEveryFinishedRunHas) {
  std::vector<results::LoadedRun> runs = {Scored(1), Scored(2), {}};
  EXPECT_EQ(MeasureFor(runs), Measure::kTraining);
  runs[0].evals = {Line(10, 3), Line(20, 4)};
  EXPECT_EQ(MeasureFor(runs), Measure::kTraining);
  runs[1].evals = {Line(20, 5)};
  EXPECT_EQ(MeasureFor(runs), Measure::kLastEval);
  EXPECT_EQ(ScoreOf(runs[0], Measure::kLastEval), 4);
  for (int i : {0, 1})
    runs[static_cast<std::size_t>(i)].final_eval = results::FinalEval{"c", {20}, 7.5, 1};
  EXPECT_EQ(MeasureFor(runs), Measure::kFinalEval);
  EXPECT_EQ(ScoreOf(runs[0], Measure::kFinalEval), 7.5);
  EXPECT_THAT(InWords(Measure::kFinalEval, runs), HasSubstr("of 20 episodes"));
  runs[1].final_eval->played.episodes = 100;
  EXPECT_THAT(InWords(Measure::kFinalEval, runs), HasSubstr("of 20 to 100 episodes"));
  runs[1].final_eval->played.greedy = true;
  EXPECT_THAT(InWords(Measure::kFinalEval, runs), EndsWith("played, some greedily, some not"));
  runs[0].final_eval->played.greedy = true;
  EXPECT_THAT(InWords(Measure::kFinalEval, runs), EndsWith("played greedily"));
  EXPECT_EQ(MeasureFor({{}}), Measure::kTraining);
}

TEST(MeasureTest, WhoeverKeepsTheOthersFromABetterOneIsNamed) {
  std::vector<results::LoadedRun> runs = {Scored(1), Scored(2), Scored(3)};
  EXPECT_EQ(WhyNoBetter(Measure::kTraining, runs), "");
  runs[1].dir = "runs/b";
  runs[0].final_eval = runs[2].final_eval = results::FinalEval{"c", {20}, 7.5, 1};
  EXPECT_EQ(WhyNoBetter(MeasureFor(runs), runs),
            "1 of 3 finished runs has no final_eval.json (runs/b), so that every run is judged by "
            "the mean return of its last 100 training episodes.");
  runs[1].state = results::RunState::kUnfinished;
  EXPECT_EQ(WhyNoBetter(MeasureFor(runs), runs), "");
}

// 1, 2, 3 and 4: tests/results/statistics_test.cc. The fifth did not finish.
TEST(GroupNumbersTest, OfTheFinishedRuns) {
  std::vector<results::LoadedRun> runs = {Scored(4), Scored(3), Scored(2), Scored(1), Scored(99)};
  runs[4].state = results::RunState::kUnfinished;
  for (results::LoadedRun& run : runs)
    run.summary->time.actors = {.wait = 0.2, .act = 0.3, .gradient = 0.5};
  const std::vector<Group> groups = MakeGroups(runs);
  const GroupNumbers numbers = NumbersOf(groups.front(), Measure::kTraining, 0);
  EXPECT_EQ(numbers.finished, 4u);
  EXPECT_THAT(numbers.scores, ElementsAre(4, 3, 2, 1));
  EXPECT_EQ(numbers.returns->interquartile_mean, 2.5);
  EXPECT_EQ(numbers.returns->median, 2.5);
  EXPECT_EQ(numbers.returns->mean, 2.5);
  EXPECT_EQ(numbers.interval, (results::Interval{1, 4}));
  EXPECT_EQ(numbers.steps_per_second, 25);  // (40 + 30 + 20 + 10) / 4
  EXPECT_THAT(numbers.bottleneck, StartsWith("the actors: they compute 80 % of the time"));
}

TEST(GroupNumbersTest, OneRunHasNoInterval) {
  const std::vector<results::LoadedRun> runs = {Scored(4)};
  const GroupNumbers numbers = NumbersOf(MakeGroups(runs).front(), Measure::kTraining, 0);
  EXPECT_EQ(numbers.returns->interquartile_mean, 4);
  EXPECT_FALSE(numbers.interval);
}

TEST(GroupNumbersTest, WithoutAFinishedRunNothingIsSaid) {
  std::vector<results::LoadedRun> runs = {Scored(4)};
  runs[0].state = results::RunState::kFailed;
  const GroupNumbers numbers = NumbersOf(MakeGroups(runs).front(), Measure::kTraining, 0);
  EXPECT_EQ(numbers.finished, 0u);
  EXPECT_FALSE(numbers.returns || numbers.interval || numbers.steps_per_second);
}

// One that reaches 10 after `seconds`, a hundred steps a second.
results::LoadedRun After(double seconds) {
  return RunWith({{0, 0, {}}, {1, 0.01, 0.0}, {100 * seconds, seconds, 10.0}});
}

results::LoadedRun Never() { return RunWith({{0, 0, {}}, {100, 1, 3.0}, {200, 2, 9.99}}); }

GroupToScore Of(std::vector<results::LoadedRun> runs) {
  std::vector<const results::LoadedRun*> pointers;
  for (const results::LoadedRun& run : runs) pointers.push_back(&run);
  return TimeTo(10, pointers);
}

// From 4 at 100 steps to 8 at 300: 5 is a quarter of the way.
TEST(TimeToTest, WhereTheCurveCrossesTheScore) {
  const results::LoadedRun run = RunWith({{0, 0, {}}, {100, 1, 4.0}, {300, 2, 8.0}, {400, 3, 6.0}});
  EXPECT_EQ(TimeTo(5, run).reached->steps, 150);
  EXPECT_EQ(TimeTo(5, run).reached->seconds, 1.25);
  EXPECT_EQ(TimeTo(8, run).reached->steps, 300);
  EXPECT_EQ(TimeTo(3, run).reached->steps, 100) << "it was there when it was first known";
  EXPECT_TRUE(TimeTo(8.5, run).known);
  EXPECT_FALSE(TimeTo(8.5, run).reached);
}

TEST(TimeToTest, AFewLuckyEpisodesAreNoScore) {
  const results::LoadedRun run =
      RunWith({{100, 1, 9.0, 3}, {200, 2, 2.0, 150}, {300, 3, 6.0, 300}});
  EXPECT_EQ(TimeTo(4, run).reached->steps, 250);
  EXPECT_FALSE(TimeTo(8, run).reached);
}

TEST(TimeToTest, WithoutACurveNothingIsKnown) {
  EXPECT_FALSE(TimeTo(1, RunWith({})).known);
  EXPECT_TRUE(TimeTo(1, RunWith({{0, 0, {}}})).known) << "but no episode ended: never";
}

TEST(GroupToScoreTest, NeverIsLongerThanAnyTime) {
  EXPECT_EQ(Of({After(3), After(1), After(2)}).median->seconds, 2);
  EXPECT_EQ(Of({After(3), After(1), After(2)}).median->steps, 200);
  const GroupToScore two = Of({After(3), Never(), After(1)});
  EXPECT_EQ(two.reached, 2u);
  EXPECT_EQ(two.median->seconds, 3) << "1, 3, never";
  const GroupToScore one = Of({Never(), Never(), After(1)});
  EXPECT_EQ(one.reached, 1u);
  EXPECT_EQ(one.known, 3u);
  EXPECT_FALSE(one.median) << "1, never, never";
  EXPECT_EQ(Of({After(1), After(3), After(4), Never()}).median->seconds, 3.5);
  EXPECT_FALSE(Of({After(1), After(3), Never(), Never()}).median) << "between 3 and never";
}

TEST(GroupToScoreTest, ARunWithoutACurveIsNotCountedAsNever) {
  const GroupToScore group = Of({After(1), RunWith({})});
  EXPECT_EQ(group.known, 1u);
  EXPECT_EQ(group.median->seconds, 1);
  EXPECT_EQ(Of({RunWith({})}).known, 0u);
}

TEST(ToScoreTableTest, TellsOfEachRun) {
  const std::vector<results::LoadedRun> runs = {After(1), Never(), After(3)};
  Targets targets;
  EXPECT_EQ(ToScoreTable(MakeGroups(runs), targets), "");
  targets.Add("10");
  const std::string table = ToScoreTable(MakeGroups(runs), targets);
  EXPECT_THAT(table, HasSubstr("<td>10</td><td>2 of 3</td><td>300</td><td>3.00</td>"));
  EXPECT_THAT(table, HasSubstr("1.00, never, 3.00"));
}

TEST(TargetsTest, OfAllEnvironmentsOrOfOne) {
  Targets targets;
  EXPECT_TRUE(targets.empty());
  EXPECT_FALSE(targets.For("catch"));
  targets.Add("minatar/freeway=40.5");
  EXPECT_FALSE(targets.For("catch"));
  targets.Add("-3");
  EXPECT_EQ(targets.For("catch"), -3);
  EXPECT_EQ(targets.For("minatar/freeway"), 40.5);
}

TEST(TargetsTest, WhatIsNoScoreIsRefused) {
  for (const char* word : {"", "ten", "catch=", "10x", "nan", "1e99"}) {
    EXPECT_THROW(Targets().Add(word), UserError) << word;
  }
  Targets targets;
  targets.Add("minatar/freewy=40");
  EXPECT_THAT(ErrorOf([&] { targets.Check({"minatar/freeway"}); }),
              testing::AllOf(HasSubstr("none of these runs is in minatar/freewy"),
                             HasSubstr("did you mean \"minatar/freeway\"?")));
}

TEST(SecondsTextTest, ThreeDigits) {
  EXPECT_EQ(SecondsText(8.314), "8.31");
  EXPECT_EQ(SecondsText(9.999), "10.0");
  EXPECT_EQ(SecondsText(345.6), "346");
  EXPECT_EQ(SecondsText(12'345), "12345");
  EXPECT_EQ(SecondsText(1'234'567), "1.23M");
}

}  // namespace
}  // namespace starling::report
