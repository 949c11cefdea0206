#include "tools/report/panels.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "tools/report/figures.h"
#include "tools/report/html.h"
#include "tools/report/tables.h"

namespace starling::report {
namespace {

constexpr std::size_t kPointsOfRun = 100;

using Members = std::vector<std::size_t>;  // groups of one figure

// The curve and band of a group over its finished runs, these runs thinly unless many groups share
// the figure, and those that did not finish as far as they came.
void AddGroup(const Group& group, std::size_t stratum, const Quantity& quantity, Plot& plot) {
  std::vector<Samples> finished;
  const std::size_t count = group.Finished().size();
  for (const results::LoadedRun* run : group.runs) {
    if (run->repeated) continue;
    Samples samples = quantity.samples_of(*run);
    if (run->finished()) finished.push_back(samples);
    // A single one is the group's curve; many would hide it.
    const bool thin = count > 1 && count <= kMostThin && !plot.small;
    if (run->finished() && !thin) continue;
    plot.curves.push_back(
        {.kind = run->finished() ? Curve::Kind::kRun : Curve::Kind::kUnfinished,
         .style = group.style,
         .samples = Thinned(samples, kPointsOfRun),
         .title = fmt::format("{}, {}", run->dir.string(), results::NameOf(run->state))});
  }
  const GroupCurve across = Across(finished, kPointsOfGroup, static_cast<std::uint32_t>(stratum));
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

std::vector<std::string> EnvsOf(const std::vector<Group>& groups) {
  std::vector<std::string> envs;
  for (const Group& group : groups) {
    if (std::ranges::count(envs, group.Env()) == 0) envs.push_back(group.Env());
  }
  return envs;
}

std::string RowsOfEnvs(const std::vector<Quantity>& quantities, const std::vector<Group>& groups) {
  const std::vector<std::string> envs = EnvsOf(groups);
  std::string rows;
  for (const std::string& env : envs) {
    std::string figures;
    for (const Quantity& quantity : quantities) {
      if (!quantity.of_env && env != envs.front()) continue;  // drawn with all environments
      Members members;
      for (std::size_t g = 0; g < groups.size(); ++g) {
        if (!quantity.of_env || groups[g].Env() == env) members.push_back(g);
      }
      const bool told = quantity.of_env && envs.size() > 1;
      figures += Figure((told ? Escaped(env) + ": " : "") + quantity.caption,
                        DrawPlot(PlotOf(quantity, groups, members, /*small=*/false)));
    }
    if (!figures.empty()) rows += "<div class=\"figures\">\n" + figures + "</div>\n";
  }
  return rows;
}

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
    figures += Figure(Escaped(grid.RowName(row)), DrawPlot(plots[row]));
  }
  return "<h3>" + quantity.caption + "</h3>\n<div class=\"multiples\">\n" + figures + "</div>\n";
}

}  // namespace

std::string Legend(const std::vector<Group>& groups, const FacetGrid* grid) {
  std::string items;
  const auto add = [&](std::size_t style, const std::string& name) {
    items += fmt::format("<li>{}{}</li>\n", Chip(style), Escaped(name));
  };
  if (grid == nullptr) {
    for (const Group& group : groups) add(group.style, group.label);
  } else {
    for (std::size_t c = 0; c < grid->columns.size(); ++c) add(c, grid->ColumnName(c));
  }
  return "<ul class=\"legend\">\n" + items + "</ul>\n";
}

std::string DrawQuantities(const std::vector<Quantity>& quantities,
                           const std::vector<Group>& groups, const FacetGrid* grid) {
  if (grid == nullptr) return RowsOfEnvs(quantities, groups);
  std::string rows;
  for (const Quantity& quantity : quantities) rows += SmallFigures(quantity, groups, *grid);
  return rows;
}

}  // namespace starling::report
