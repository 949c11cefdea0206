// Statistics over several tasks: the score of a method over all of them, and how often it beats
// another method. As in Agarwal et al., "Deep reinforcement learning at the edge of the statistical
// precipice", NeurIPS 2021.
#pragma once

#include <vector>

#include "results/statistics.h"

namespace starling::results {

// The scores of a method: of each task one for each run, all on one scale.
using TaskScores = std::vector<std::vector<double>>;

struct Estimate {
  double value = 0;
  Interval interval{};  // 95 %; the bootstrap draws the runs of each task with replacement
};

// REQUIRES of all that follow: at least one task, each with at least one run.

// The interquartile mean of all runs of all tasks together. It leaves out the best and the worst
// quarter: a task that is lost may not be seen in it.
Estimate InterquartileMeanOver(const TaskScores& scores);

// The mean over tasks of the mean over runs. It leaves out nothing.
Estimate MeanOver(const TaskScores& scores);

// The probability that a run of `a` has a higher score than one of `b` in the same task, where
// equal scores count half; the mean over tasks. REQUIRES: both are over the same tasks.
Estimate ProbabilityOfImprovement(const TaskScores& a, const TaskScores& b);

// The share of runs with a score of more than `score`; the mean over tasks. Over all scores, this
// is a performance profile.
double ShareAbove(double score, const TaskScores& scores);

}  // namespace starling::results
