#include "results/over_tasks.h"

#include <gtest/gtest.h>

namespace starling::results {
namespace {

// Of eight runs together the lowest two and the highest two are left out: (3 + 4 + 5 + 6) / 4.
TEST(OverTasks, TheInterquartileMeanIsOfAllRunsTogether) {
  EXPECT_EQ(InterquartileMeanOver({{1, 2, 3, 4}, {5, 6, 7, 8}}).value, 4.5);
  EXPECT_EQ(InterquartileMeanOver({{8, 1, 6, 3}, {2, 7, 4, 5}}).value, 4.5);
  EXPECT_EQ(InterquartileMeanOver({{5}}).value, 5);
}

// A draw replaces runs by others of the same task: where these are equal nothing changes.
TEST(OverTasks, RunsAreDrawnWithinTheirTask) {
  const Estimate sure = InterquartileMeanOver({{1, 1, 1, 1}, {9, 9, 9, 9}});
  EXPECT_EQ(sure.value, 5);
  EXPECT_EQ(sure.interval, (Interval{5, 5}));
}

// Two tasks of two runs, 0 and 1: of four drawn runs the middle two count. Let n be the number of
// ones, binomial (4, 1/2): the mean is 0 if n <= 1 (5 of 16 draws), 1 if n >= 3. So 95 % need both.
TEST(OverTasks, TheIntervalIsThatOfAllDraws) {
  EXPECT_EQ(InterquartileMeanOver({{0, 1}, {0, 1}}).interval, (Interval{0, 1}));
  const TaskScores scores = {{3.1, 4.1, 5.9, 2.6}, {5.3, 5.8, 9.7, 9.3}};
  const Estimate estimate = InterquartileMeanOver(scores);
  EXPECT_LT(estimate.interval.low, estimate.value);
  EXPECT_GT(estimate.interval.high, estimate.value);
  EXPECT_EQ(InterquartileMeanOver(scores).interval, estimate.interval) << "the draws are fixed";
}

// (2 + 10) / 2: each task counts as much as the other, however many runs it has. A lost run counts.
TEST(OverTasks, TheMeanIsOfTheTasksMeans) {
  EXPECT_EQ(MeanOver({{1, 2, 3}, {10}}).value, 6);
  EXPECT_EQ(MeanOver({{8, 8, 8, 0}}).value, 6);
  EXPECT_EQ(MeanOver({{1, 1}, {9, 9}}).interval, (Interval{5, 5}));
  // Two runs, 0 and 1: a draw is 0, 0.5 or 1, each end in a quarter of the draws.
  EXPECT_EQ(MeanOver({{0, 1}}).interval, (Interval{0, 1}));
}

// Pairs of (1, 3) and (2, 2): 3 beats both, 1 neither. In the second task all are equal.
TEST(OverTasks, ImprovementIsTheShareOfPairsThatWin) {
  EXPECT_EQ(ProbabilityOfImprovement({{1, 3}}, {{2, 2}}).value, 0.5);
  EXPECT_EQ(ProbabilityOfImprovement({{1, 3, 3}}, {{2, 2}}).value, 2.0 / 3);
  EXPECT_EQ(ProbabilityOfImprovement({{4, 3}, {7}}, {{2, 2}, {7}}).value, (1 + 0.5) / 2);
  const Estimate certain = ProbabilityOfImprovement({{4, 3}, {8}}, {{2, 2}, {7, 6, 5}});
  EXPECT_EQ(certain.value, 1);
  EXPECT_EQ(certain.interval, (Interval{1, 1}));
}

TEST(OverTasks, OfTheSameNumbersNoneIsBetter) {
  const TaskScores scores = {{1, 2, 3, 4, 5, 6, 7, 8}, {3, 1, 4, 1, 5, 9, 2, 6}};
  const Estimate even = ProbabilityOfImprovement(scores, scores);
  EXPECT_EQ(even.value, 0.5);
  EXPECT_LT(even.interval.low, 0.4) << "both are drawn, and each for itself";
  EXPECT_GT(even.interval.high, 0.6);
  EXPECT_NEAR(even.interval.low + even.interval.high, 1, 0.04);
}

TEST(OverTasks, AProfileIsTheShareOfRunsAbove) {
  const TaskScores scores = {{1, 2, 3, 4}, {2, 2}};
  EXPECT_EQ(ShareAbove(0, scores), 1);
  EXPECT_EQ(ShareAbove(1, scores), (0.75 + 1) / 2);
  EXPECT_EQ(ShareAbove(2, scores), 0.25) << "more than the score, not as much";
  EXPECT_EQ(ShareAbove(4, scores), 0);
}

}  // namespace
}  // namespace starling::results
