// Returns against the values of a key: a number of actors, a delay, a bound.
#include <fmt/format.h>

#include <algorithm>

#include "monitor/svg/html.h"
#include "tools/report/sections.h"
#include "tools/sweep/grid.h"

namespace starling::report {
namespace {

using monitor::Curve;
using monitor::HtmlEscaped;
using monitor::Plot;

constexpr std::size_t kLeastPlaces = 3;  // two are no curve

std::size_t PlaceIn(const std::vector<std::string>& all, const std::string& value) {
  return static_cast<std::size_t>(std::ranges::find(all, value) - all.begin());
}

// "none, 0.5" of "16", "none", "0.5".
std::string WithoutFirst(const std::vector<std::string>& words) {
  return fmt::to_string(fmt::join(words.begin() + 1, words.end(), ", "));
}

std::vector<ByValueEstimate> EstimatesOf(const std::vector<std::optional<std::size_t>>& row,
                                         const std::vector<Group>& groups, Measure measure) {
  std::vector<ByValueEstimate> estimates;
  for (const std::optional<std::size_t>& g : row) {
    ByValueEstimate& estimate = estimates.emplace_back();
    if (!g) continue;
    const auto stratum = static_cast<std::uint32_t>(*g);
    const GroupNumbers numbers = NumbersOf(groups[*g], measure, stratum);
    if (numbers.returns) estimate.value = numbers.returns->interquartile_mean;
    estimate.interval = numbers.interval;
  }
  return estimates;
}

}  // namespace

std::optional<ValueLines> ValueLinesOf(const FacetGrid& grid) {
  // 1. The first key gives the places: it must be a quantity.
  std::vector<std::string> first, others;
  for (const std::vector<std::string>& values : grid.column_values) {
    first.push_back(values.front());
    others.push_back(WithoutFirst(values));
  }
  ValueLines lines{.key = grid.column_keys.front(),
                   .places = InOrder(first),
                   .lines = InOrder(others),
                   .cells = {}};
  if (lines.places.size() < kLeastPlaces || !AreQuantities(lines.places)) return std::nullopt;
  // 2. Where each column lies.
  for (std::size_t c = 0; c < first.size(); ++c) {
    lines.cells.push_back({PlaceIn(lines.places, first[c]), PlaceIn(lines.lines, others[c])});
  }
  std::ranges::replace(lines.places, "unbounded", "∞");  // an axis is narrow
  // 3. Name the lines.
  const std::vector<std::string> keys = sweep::ShortKeys(grid.column_keys);
  for (std::string& line : lines.lines) {
    if (keys.size() > 1) line = WithoutFirst(keys) + " = " + line;
  }
  return lines;
}

Plot PlotByValue(const ValueLines& lines, const std::vector<ByValueEstimate>& columns) {
  const auto number = static_cast<double>(lines.lines.size());
  const double beside = std::min(0.08, 0.4 / number);  // lines do not hide each other's intervals
  Plot plot{.x_label = lines.key,
            .y_label = "return",
            .from_zero = true,
            .if_empty = "no run has finished here",
            .places = lines.places};
  for (std::size_t line = 0; line < lines.lines.size(); ++line) {
    Curve curve{.style = line, .samples = {}, .title = lines.lines[line], .dots = true};
    const double shift = beside * (static_cast<double>(line) - (number - 1) / 2);
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const auto& [value, interval] = columns[c];
      if (lines.cells[c].line != line || !value) continue;
      const double x = static_cast<double>(lines.cells[c].place) + shift;
      curve.samples.push_back({x, *value});
      if (interval) plot.whiskers.push_back({line, x, interval->low, interval->high});
    }
    plot.curves.push_back(std::move(curve));
  }
  return plot;
}

std::string LegendOf(const ValueLines& lines) {
  if (lines.lines.size() < 2) return "";
  std::vector<std::pair<std::size_t, std::string>> names;
  for (const std::string& line : lines.lines) names.emplace_back(names.size(), line);
  return Legend(names);
}

std::string ByValueSection(const std::vector<Group>& groups, const FacetGrid* grid,
                           Measure measure) {
  // 1. A plot for each row.
  const std::optional<ValueLines> lines = grid != nullptr ? ValueLinesOf(*grid) : std::nullopt;
  if (!lines) return "";
  std::vector<Plot> plots;
  for (const auto& row : grid->groups) {
    plots.push_back(PlotByValue(*lines, EstimatesOf(row, groups, measure)));
    plots.back().small = true;
  }
  if (!grid->rows_are_envs()) ShareScale(plots);
  // 2. The section.
  std::string figures;
  for (std::size_t row = 0; row < plots.size(); ++row) {
    figures += monitor::Figure(HtmlEscaped(grid->RowName(row)), DrawPlot(plots[row]));
  }
  return "<h2>Return against " + HtmlEscaped(lines->key) +
         "</h2>\n<p class=\"faint\">Interquartile means of finished runs; vertical lines are 95 % "
         "intervals. The values are evenly spaced.</p>\n" +
         LegendOf(*lines) + "<div class=\"multiples\">\n" + figures + "</div>\n";
}

}  // namespace starling::report
