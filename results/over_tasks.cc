#include "results/over_tasks.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "core/check.h"

namespace starling::results {
namespace {

// The draws of the runs of each task. Two methods that are compared have other `first` strata.
std::vector<Bootstrap> DrawsOf(const TaskScores& scores, std::uint32_t first) {
  CHECK(!scores.empty());
  std::vector<Bootstrap> draws;
  for (const std::vector<double>& task : scores) draws.emplace_back(task.size(), kDraws, first++);
  return draws;
}

// Calls `of_draw` with the number of each draw. Returns the interval of the results.
template <class OfDraw>
Interval IntervalOf(const OfDraw& of_draw) {
  std::vector<double> values;
  for (std::size_t draw = 0; draw < kDraws; ++draw) values.push_back(of_draw(draw));
  return Interval95(std::move(values));
}

// Of each pair (run of `a`, run of `b`), row by row: 1 if a is higher, 0.5 if they are equal.
std::vector<float> WinsOf(const std::vector<double>& a, const std::vector<double>& b) {
  std::vector<float> wins;
  for (const double one : a) {
    for (const double other : b) wins.push_back(one > other ? 1.0f : one == other ? 0.5f : 0.0f);
  }
  return wins;
}

}  // namespace

Estimate InterquartileMeanOver(const TaskScores& scores) {
  const std::vector<Bootstrap> draws = DrawsOf(scores, 0);
  std::vector<double> all;
  for (const std::vector<double>& task : scores) all.insert(all.end(), task.begin(), task.end());
  return {InterquartileMean(all), IntervalOf([&](std::size_t draw) {
            all.clear();
            for (std::size_t task = 0; task < scores.size(); ++task) {
              for (const std::uint32_t run : draws[task].Draw(draw)) {
                all.push_back(scores[task][run]);
              }
            }
            return InterquartileMean(all);
          })};
}

Estimate MeanOver(const TaskScores& scores) {
  const auto tasks = static_cast<double>(scores.size());
  const std::vector<Bootstrap> draws = DrawsOf(scores, 0);
  double sum = 0;
  for (const std::vector<double>& task : scores) sum += Mean(task);
  return {sum / tasks, IntervalOf([&](std::size_t draw) {
            double drawn = 0;
            for (std::size_t task = 0; task < scores.size(); ++task) {
              double of_task = 0;
              for (const std::uint32_t run : draws[task].Draw(draw)) of_task += scores[task][run];
              drawn += of_task / static_cast<double>(scores[task].size());
            }
            return drawn / tasks;
          })};
}

Estimate ProbabilityOfImprovement(const TaskScores& a, const TaskScores& b) {
  CHECK(a.size() == b.size(), "{} tasks and {}", a.size(), b.size());
  // 1. Compare all pairs of runs of each task.
  std::vector<std::vector<float>> wins;
  double sum = 0;
  for (std::size_t task = 0; task < a.size(); ++task) {
    wins.push_back(WinsOf(a[task], b[task]));
    double won = 0;
    for (const float win : wins.back()) won += win;
    sum += won / static_cast<double>(wins.back().size());
  }
  // 2. The same for each draw of the runs of both.
  const auto tasks = static_cast<double>(a.size());
  const std::vector<Bootstrap> of_a = DrawsOf(a, 0);
  const std::vector<Bootstrap> of_b = DrawsOf(b, static_cast<std::uint32_t>(a.size()));
  return {sum / tasks, IntervalOf([&](std::size_t draw) {
            double drawn = 0;
            for (std::size_t task = 0; task < a.size(); ++task) {
              double won = 0;
              for (const std::uint32_t i : of_a[task].Draw(draw)) {
                const float* const row = wins[task].data() + i * b[task].size();
                for (const std::uint32_t j : of_b[task].Draw(draw)) won += row[j];
              }
              drawn += won / static_cast<double>(wins[task].size());
            }
            return drawn / tasks;
          })};
}

double ShareAbove(double score, const TaskScores& scores) {
  double sum = 0;
  for (const std::vector<double>& task : scores) {
    const auto above = std::ranges::count_if(task, [&](double one) { return one > score; });
    sum += static_cast<double>(above) / static_cast<double>(task.size());
  }
  return sum / static_cast<double>(scores.size());
}

}  // namespace starling::results
