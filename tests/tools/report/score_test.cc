#include "tools/report/score.h"

#include <gmock/gmock.h>

namespace starling::report {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

results::LoadedRun Finished(double training) {
  results::LoadedRun run;
  run.state = results::RunState::kFinished;
  run.config["env.name"] = "\"catch\"";
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
  std::vector<results::LoadedRun> runs = {Finished(1), Finished(2), {}};
  EXPECT_EQ(MeasureFor(runs), Measure::kTraining);
  runs[0].evals = {Line(10, 3), Line(20, 4)};
  EXPECT_EQ(MeasureFor(runs), Measure::kTraining);
  runs[1].evals = {Line(20, 5)};
  EXPECT_EQ(MeasureFor(runs), Measure::kLastEval);
  EXPECT_EQ(ScoreOf(runs[0], Measure::kLastEval), 4);
  for (int i : {0, 1})
    runs[static_cast<std::size_t>(i)].final_eval = results::FinalEval{"c", 20, 7.5, 1};
  EXPECT_EQ(MeasureFor(runs), Measure::kFinalEval);
  EXPECT_EQ(ScoreOf(runs[0], Measure::kFinalEval), 7.5);
  EXPECT_THAT(InWords(Measure::kFinalEval, runs), HasSubstr("of 20 episodes"));
  runs[1].final_eval->episodes = 100;
  EXPECT_THAT(InWords(Measure::kFinalEval, runs), HasSubstr("of 20 to 100 episodes"));
  EXPECT_EQ(MeasureFor({{}}), Measure::kTraining);
}

TEST(MeasureTest, WhoeverKeepsTheOthersFromABetterOneIsNamed) {
  std::vector<results::LoadedRun> runs = {Finished(1), Finished(2), Finished(3)};
  EXPECT_EQ(WhyNoBetter(Measure::kTraining, runs), "");
  runs[1].dir = "runs/b";
  runs[0].final_eval = runs[2].final_eval = results::FinalEval{"c", 20, 7.5, 1};
  EXPECT_EQ(WhyNoBetter(MeasureFor(runs), runs),
            "1 of 3 finished runs has no final_eval.json (runs/b), so that every run is judged by "
            "the mean return of its last 100 training episodes.");
  runs[1].state = results::RunState::kUnfinished;
  EXPECT_EQ(WhyNoBetter(MeasureFor(runs), runs), "");
}

// 1, 2, 3 and 4: tests/results/statistics_test.cc. The fifth did not finish.
TEST(GroupNumbersTest, OfTheFinishedRuns) {
  std::vector<results::LoadedRun> runs = {Finished(4), Finished(3), Finished(2), Finished(1),
                                          Finished(99)};
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
  const std::vector<results::LoadedRun> runs = {Finished(4)};
  const GroupNumbers numbers = NumbersOf(MakeGroups(runs).front(), Measure::kTraining, 0);
  EXPECT_EQ(numbers.returns->interquartile_mean, 4);
  EXPECT_FALSE(numbers.interval);
}

TEST(GroupNumbersTest, WithoutAFinishedRunNothingIsSaid) {
  std::vector<results::LoadedRun> runs = {Finished(4)};
  runs[0].state = results::RunState::kFailed;
  const GroupNumbers numbers = NumbersOf(MakeGroups(runs).front(), Measure::kTraining, 0);
  EXPECT_EQ(numbers.finished, 0u);
  EXPECT_FALSE(numbers.returns || numbers.interval || numbers.steps_per_second);
}

}  // namespace
}  // namespace starling::report
