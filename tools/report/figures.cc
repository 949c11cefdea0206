#include "tools/report/figures.h"

#include <algorithm>

#include "tools/report/panels.h"

namespace starling::report {
namespace {

// Seconds in the unit that suits the longest run.
struct TimeUnit {
  double longest_s, seconds;
  std::string label;
};

std::string WhoseTime(const std::vector<results::LoadedRun>& runs) {
  const auto simulated = std::ranges::count(runs, true, &results::LoadedRun::simulated);
  if (simulated == 0) return "wall-clock time of training";
  return static_cast<std::size_t>(simulated) == runs.size()
             ? "virtual time of training"
             : "time of training (virtual where simulated)";
}

TimeUnit UnitFor(const std::vector<results::LoadedRun>& runs) {
  double longest = 0;
  for (const results::LoadedRun& run : runs) {
    if (!run.metrics.empty()) longest = std::max(longest, run.metrics.back().seconds);
  }
  const std::string time = WhoseTime(runs);
  if (longest > 2 * 3600) return {longest, 3600, time + ", h"};
  if (longest > 5 * 60) return {longest, 60, time + ", min"};
  return {longest, 1, time + ", s"};
}

std::function<Samples(const results::LoadedRun&)> InUnit(
    const std::function<Samples(const results::LoadedRun&)>& of_seconds, double unit_s) {
  return [=](const results::LoadedRun& run) {
    Samples samples = of_seconds(run);
    for (Sample& sample : samples) sample.x /= unit_s;
    return samples;
  };
}

std::string Section(const std::string& title, const std::vector<Quantity>& quantities,
                    const std::vector<Group>& groups, const FacetGrid* grid) {
  return "<h2>" + title + "</h2>\n" + Legend(groups, grid) +
         DrawQuantities(quantities, groups, grid);
}

}  // namespace

std::string LearningSection(const std::vector<Group>& groups,
                            const std::vector<results::LoadedRun>& runs, const FacetGrid* grid) {
  const TimeUnit unit = UnitFor(runs);
  const std::string if_empty = "no episode has ended in any of these runs";
  const Quantity steps{.caption = "return against steps",
                       .x_label = "environment steps",
                       .y_label = "return",
                       .if_empty = if_empty,
                       .samples_of = ReturnBySteps};
  const Quantity time{.caption = "return against time",
                      .x_label = unit.label,
                      .y_label = "return",
                      .if_empty = if_empty,
                      .samples_of = InUnit(ReturnBySeconds, unit.seconds)};
  return Section("Learning", {steps, time}, groups, grid);
}

std::string EvaluationSection(const std::vector<Group>& groups,
                              const std::vector<results::LoadedRun>& runs, const FacetGrid* grid) {
  const auto none = [](const results::LoadedRun& run) { return run.evals.empty(); };
  if (std::ranges::all_of(runs, none)) return "";
  const Quantity evaluations{
      .caption = "mean return of the episodes of each evaluation (eval.jsonl)",
      .x_label = "environment steps",
      .y_label = "return of evaluation",
      .if_empty = "none of these runs was evaluated while training",
      .samples_of = EvaluationBySteps,
      .dots = true};
  return Section("Evaluation while training", {evaluations}, groups, grid);
}

std::string ThroughputSection(const std::vector<Group>& groups,
                              const std::vector<results::LoadedRun>& runs, const FacetGrid* grid) {
  const TimeUnit unit = UnitFor(runs);
  const double window_s = std::max(unit.longest_s / kWindows, 1e-3);
  const auto throughput = [=](const results::LoadedRun& run) { return Throughput(run, window_s); };
  const Quantity rate{.caption = "Steps per second over time",
                      .x_label = unit.label,
                      .y_label = "steps per second",
                      .if_empty = "these runs left no two points to take a rate from",
                      .samples_of = InUnit(throughput, unit.seconds),
                      .of_env = false,
                      .from_zero = true};
  return Section("Throughput", {rate}, groups, grid);
}

}  // namespace starling::report
