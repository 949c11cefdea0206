#include "fleet/report/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "fleet/report/plot.h"
#include "fleet/report/tables.h"

namespace starling::fleet {
namespace {

constexpr std::size_t kPointsOfRun = 150;

using SamplesOf = std::function<Samples(const LoadedRun&)>;

double LongestTime(const std::vector<LoadedRun>& runs) {
  double longest = 0;
  for (const LoadedRun& run : runs) {
    if (!run.metrics.empty()) longest = std::max(longest, run.metrics.back().seconds);
  }
  return longest;
}

// Seconds in the unit that suits the longest run.
struct TimeUnit {
  double longest_s, seconds;
  const char* label;
};

TimeUnit UnitFor(const std::vector<LoadedRun>& runs) {
  const double longest = LongestTime(runs);
  if (longest > 2 * 3600) return {longest, 3600, "wall-clock time of training, h"};
  if (longest > 5 * 60) return {longest, 60, "wall-clock time of training, min"};
  return {longest, 1, "wall-clock time of training, s"};
}

SamplesOf InUnit(const SamplesOf& of_seconds, TimeUnit unit) {
  return [=](const LoadedRun& run) {
    Samples samples = of_seconds(run);
    for (Sample& sample : samples) sample.x /= unit.seconds;
    return samples;
  };
}

// The curve and band of each group (in `env`, if it is not "") over its finished runs, these runs
// thinly, and those that did not finish as far as they came.
void AddGroups(const std::vector<Group>& groups, const std::string& env,
               const SamplesOf& samples_of, bool dots, Plot& plot) {
  std::vector<Curve> thick;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (!env.empty() && groups[g].Env() != env) continue;
    std::vector<Samples> finished;
    const std::size_t count = groups[g].Finished().size();
    for (const LoadedRun* run : groups[g].runs) {
      if (run->repeated) continue;
      Samples samples = samples_of(*run);
      const std::string title = fmt::format("{}, {}", run->dir.string(), NameOf(run->state));
      if (run->finished()) finished.push_back(samples);
      // A single one is the group's curve; many would hide it.
      if (run->finished() && (count == 1 || count > kMostThin)) continue;
      plot.curves.push_back({.kind = run->finished() ? Curve::Kind::kRun : Curve::Kind::kUnfinished,
                             .group = g,
                             .samples = Thinned(samples, kPointsOfRun),
                             .title = title});
    }
    const GroupCurve across = Across(finished, kPointsOfGroup, static_cast<std::uint32_t>(g));
    thick.push_back({.kind = Curve::Kind::kGroup,
                     .group = g,
                     .samples = across.middle,
                     .title = groups[g].label,
                     .dots = dots});
    plot.bands.push_back({g, across});
  }
  plot.curves.insert(plot.curves.end(), thick.begin(), thick.end());
}

std::string Legend(const std::vector<Group>& groups) {
  std::string items;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    items += fmt::format("<li>{}{}</li>\n", Chip(g), Escaped(groups[g].label));
  }
  return "<ul class=\"legend\">\n" + items + "</ul>\n";
}

std::vector<std::string> EnvsOf(const std::vector<Group>& groups) {
  std::vector<std::string> envs;
  for (const Group& group : groups) {
    if (std::ranges::count(envs, group.Env()) == 0) envs.push_back(group.Env());
  }
  return envs;
}

// A row of figures for each environment, as returns of different ones have no scale in common.
// `figures` draws one row; its captions begin with the environment if there are several.
using FiguresOf =
    std::function<std::string(const std::string& env, const std::string& caption_begin)>;
std::string RowsOfFigures(const std::vector<Group>& groups, const FiguresOf& figures) {
  const std::vector<std::string> envs = EnvsOf(groups);
  std::string rows;
  for (const std::string& env : envs) {
    const std::string begin = envs.size() > 1 ? Escaped(env) + ": " : "";
    rows += "<div class=\"figures\">\n" + figures(env, begin) + "</div>\n";
  }
  return rows;
}

}  // namespace

std::string LearningSection(const std::vector<Group>& groups, const std::vector<LoadedRun>& runs) {
  const TimeUnit unit = UnitFor(runs);
  const auto figures = [&](const std::string& env, const std::string& begin) {
    const std::string if_empty = "no episode has ended in any of these runs";
    Plot steps{.x_label = "environment steps", .y_label = "return", .if_empty = if_empty};
    Plot time{.x_label = unit.label, .y_label = "return", .if_empty = if_empty};
    AddGroups(groups, env, ReturnBySteps, false, steps);
    AddGroups(groups, env, InUnit(ReturnBySeconds, unit), false, time);
    return Figure(begin + "return against steps", DrawPlot(steps)) +
           Figure(begin + "return against time", DrawPlot(time));
  };
  return "<h2>Learning</h2>\n" + Legend(groups) + RowsOfFigures(groups, figures);
}

std::string EvaluationSection(const std::vector<Group>& groups,
                              const std::vector<LoadedRun>& runs) {
  const auto none = [](const LoadedRun& run) { return run.evals.empty(); };
  if (std::ranges::all_of(runs, none)) return "";
  const auto figures = [&](const std::string& env, const std::string& begin) {
    Plot plot{.x_label = "environment steps",
              .y_label = "return of evaluation",
              .if_empty = "none of these runs was evaluated while training"};
    AddGroups(groups, env, EvaluationBySteps, true, plot);
    return Figure(begin + "mean return of the episodes of each evaluation (eval.jsonl)",
                  DrawPlot(plot));
  };
  return "<h2>Evaluation while training</h2>\n" + Legend(groups) + RowsOfFigures(groups, figures);
}

std::string ThroughputSection(const std::vector<Group>& groups,
                              const std::vector<LoadedRun>& runs) {
  const TimeUnit unit = UnitFor(runs);
  Plot plot{.x_label = unit.label,
            .y_label = "steps per second",
            .from_zero = true,
            .if_empty = "these runs left no two points to take a rate from"};
  const double window_s = std::max(unit.longest_s / kWindows, 1e-3);
  const auto throughput = [=](const LoadedRun& run) { return Throughput(run, window_s); };
  AddGroups(groups, "", InUnit(throughput, unit), false, plot);
  return "<h2>Throughput</h2>\n" + Legend(groups) + "<div class=\"figures\">\n" +
         Figure("Steps per second over time", DrawPlot(plot)) + "</div>\n";
}

}  // namespace starling::fleet
