#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "monitor/svg/html.h"
#include "monitor/svg/plot.h"
#include "tools/report/curves.h"
#include "tools/report/sections.h"

namespace starling::report {
namespace {

using monitor::Curve;
using monitor::DrawPlot;
using monitor::Figure;
using monitor::HtmlEscaped;
using monitor::Plot;
using monitor::ShareScale;

// A quantity of a run, and its names in a figure.
struct Quantity {
  std::string caption, x_label, y_label, if_empty;
  std::function<Samples(const results::LoadedRun&)> samples_of;
  double x_unit = 1;       // of `samples_of`: the figure shows x / x_unit
  bool of_env = true;      // environments share no scale: one figure for each
  bool from_zero = false;  // y
  bool dots = false;       // mark every sample of a group
};

constexpr std::size_t kPointsOfRun = 100;

using Members = std::vector<std::size_t>;  // groups of one figure

// Adds the curve and band of a group over its finished runs, and a thin or dotted curve for single
// runs.
void AddGroup(const Group& group, std::size_t stratum, const Quantity& quantity, Plot& plot) {
  // 1. Unfinished runs, dotted. Finished ones, thin, unless there is only one, which is the group's
  // curve, or so many that they would hide it.
  std::vector<Samples> finished;
  const std::size_t count = group.Finished().size();
  const bool thin = count > 1 && count <= kMaxThin && !plot.small;
  for (const results::LoadedRun* run : group.runs) {
    if (run->repeated) continue;
    Samples samples = quantity.samples_of(*run);
    for (Sample& sample : samples) sample.x /= quantity.x_unit;
    if (run->finished()) finished.push_back(samples);
    if (run->finished() && !thin) continue;
    plot.curves.push_back(
        {.kind = run->finished() ? Curve::Kind::kRun : Curve::Kind::kUnfinished,
         .style = group.style,
         .samples = Thinned(samples, plot.small ? kPointsOfSmall : kPointsOfRun),
         .title = fmt::format("{}, {}", run->dir.string(), results::NameOf(run->state))});
  }
  // 2. The group.
  const GroupCurve across = Across(finished, plot.small ? kPointsOfSmall : kPointsOfGroup,
                                   static_cast<std::uint32_t>(stratum));
  plot.curves.push_back({.kind = Curve::Kind::kGroup,
                         .style = group.style,
                         .samples = across.middle,
                         .title = group.label,
                         .dots = quantity.dots});
  plot.bands.push_back({group.style, across});
}

Plot PlotOf(const Quantity& quantity, const std::vector<Group>& groups, const Members& members,
            bool small) {
  Plot plot{.x_label = quantity.x_label,
            .y_label = quantity.y_label,
            .from_zero = quantity.from_zero,
            .small = small,
            .if_empty = quantity.if_empty};
  for (const std::size_t g : members) AddGroup(groups[g], g, quantity, plot);
  std::ranges::stable_partition(
      plot.curves, [](const Curve& curve) { return curve.kind != Curve::Kind::kGroup; });
  return plot;
}

// A row of figures per environment, with a figure for each quantity.
std::string RowsOfEnvs(const std::vector<Quantity>& quantities, const std::vector<Group>& groups) {
  std::vector<std::string> envs;
  for (const Group& group : groups) {
    if (std::ranges::count(envs, group.Env()) == 0) envs.push_back(group.Env());
  }
  std::string rows;
  for (const std::string& env : envs) {
    std::string figures;
    for (const Quantity& quantity : quantities) {
      if (!quantity.of_env && env != envs.front()) continue;  // drawn with all environments
      Members members;
      for (std::size_t g = 0; g < groups.size(); ++g) {
        if (!quantity.of_env || groups[g].Env() == env) members.push_back(g);
      }
      const bool named = quantity.of_env && envs.size() > 1;
      figures += Figure((named ? HtmlEscaped(env) + ": " : "") + quantity.caption,
                        DrawPlot(PlotOf(quantity, groups, members, /*small=*/false)));
    }
    if (!figures.empty()) rows += "<div class=\"figures\">\n" + figures + "</div>\n";
  }
  return rows;
}

// A row of small figures, one for each row of the grid.
std::string SmallFigures(const Quantity& quantity, const std::vector<Group>& groups,
                         const FacetGrid& grid) {
  std::vector<Plot> plots;
  for (const auto& row : grid.groups) {
    Members members;
    for (const auto& group : row) {
      if (group) members.push_back(*group);
    }
    plots.push_back(PlotOf(quantity, groups, members, /*small=*/true));
  }
  if (!quantity.of_env || !grid.rows_are_envs()) ShareScale(plots);
  std::string figures;
  for (std::size_t row = 0; row < plots.size(); ++row) {
    figures += Figure(HtmlEscaped(grid.RowName(row)), DrawPlot(plots[row]));
  }
  return "<h3>" + quantity.caption + "</h3>\n<div class=\"multiples\">\n" + figures + "</div>\n";
}

// Chip and name of every style: of the groups, or of the columns of `grid`.
std::string LegendOf(const std::vector<Group>& groups, const FacetGrid* grid) {
  std::vector<std::pair<std::size_t, std::string>> lines;
  if (grid == nullptr) {
    for (const Group& group : groups) lines.emplace_back(group.style, group.label);
  } else {
    for (std::size_t c = 0; c < grid->columns.size(); ++c) {
      lines.emplace_back(c, grid->column_names[c]);
    }
  }
  return Legend(lines);
}

// The axis of time, in the unit that suits the longest run.
struct TimeAxis {
  double longest_s, seconds;  // the unit has so many seconds
  std::string label;
};

TimeAxis TimeAxisFor(const std::vector<results::LoadedRun>& runs) {
  double longest = 0;
  for (const results::LoadedRun& run : runs) {
    if (!run.metrics.empty()) longest = std::max(longest, run.metrics.back().seconds);
  }
  const std::string time = std::ranges::none_of(runs, &results::LoadedRun::simulated)
                               ? "wall-clock time of training"
                           : std::ranges::all_of(runs, &results::LoadedRun::simulated)
                               ? "virtual time of training"
                               : "time of training (virtual where simulated)";
  const monitor::TimeUnit unit = monitor::TimeUnitFor(longest);
  return {longest, unit.seconds, fmt::format("{}, {}", time, unit.name)};
}

std::string Section(const std::string& title, const std::vector<Quantity>& quantities,
                    const std::vector<Group>& groups, const FacetGrid* grid) {
  const std::string head = "<h2>" + title + "</h2>\n" + LegendOf(groups, grid);
  if (grid == nullptr) return head + RowsOfEnvs(quantities, groups);
  std::string rows;
  for (const Quantity& quantity : quantities) rows += SmallFigures(quantity, groups, *grid);
  return head + rows;
}

}  // namespace

std::string CurveSections(const std::vector<Group>& groups,
                          const std::vector<results::LoadedRun>& runs, const FacetGrid* grid) {
  // 1. Learning, by steps and by time.
  const TimeAxis unit = TimeAxisFor(runs);
  const Quantity by_steps{
      .caption = "return against steps",
      .x_label = "environment steps",
      .y_label = "return",
      .if_empty = "no episode has ended in any of these runs, or their curves were not kept",
      .samples_of = ReturnBySteps};
  Quantity by_time = by_steps;
  by_time.caption = "return against time";
  by_time.x_label = unit.label;
  by_time.samples_of = ReturnBySeconds;
  by_time.x_unit = unit.seconds;
  std::string html = Section("Learning", {by_steps, by_time}, groups, grid);
  // 2. Evaluation, if there was any.
  const Quantity evaluations{
      .caption = "mean return of the episodes of each evaluation (eval.jsonl)",
      .x_label = "environment steps",
      .y_label = "return of evaluation",
      .if_empty = "none of these runs was evaluated while training",
      .samples_of = EvaluationBySteps,
      .dots = true};
  const auto none = [](const results::LoadedRun& run) { return run.evals.empty(); };
  if (!std::ranges::all_of(runs, none)) {
    html += Section("Evaluation while training", {evaluations}, groups, grid);
  }
  // 3. Throughput.
  const double window_s = std::max(unit.longest_s / kWindows, 1e-3);
  const Quantity rate{.caption = "Steps per second over time",
                      .x_label = unit.label,
                      .y_label = "steps per second",
                      .if_empty = "these runs left no two points to take a rate from",
                      .samples_of = [=](const auto& run) { return Throughput(run, window_s); },
                      .x_unit = unit.seconds,
                      .of_env = false,
                      .from_zero = true};
  return html + Section("Throughput", {rate}, groups, grid);
}

}  // namespace starling::report
