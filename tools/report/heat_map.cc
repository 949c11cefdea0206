#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/text.h"
#include "monitor/svg/html.h"
#include "monitor/svg/plot.h"
#include "tools/report/sections.h"

namespace starling::report {
namespace {

using monitor::Cell;
using monitor::Extent;
using monitor::Figure;
using monitor::HtmlEscaped;

constexpr double kFarApart = 20;        // largest over least
constexpr std::size_t kMaxBeside = 10;  // columns of maps that stand beside each other

std::string DrawCell(const HeatCell& cell, const HeatScale& scale) {
  if (cell.text.empty()) return "<td class=\"none\" title=\"there is no such run\"></td>";
  const std::string how =
      cell.value ? fmt::format("h{}", HeatOf(*cell.value, scale)) : std::string("never");
  const std::string note =
      cell.note.empty() ? "" : fmt::format("<small>{}</small>", HtmlEscaped(cell.note));
  return Cell(HtmlEscaped(cell.text) + note, how.c_str());
}

std::vector<HeatCell> AllOf(const HeatMap& map) {
  std::vector<HeatCell> all;
  for (const auto& row : map.cells) all.insert(all.end(), row.begin(), row.end());
  return all;
}

// Returns the text of the cell with this value.
std::string TextOf(double value, const std::vector<HeatCell>& cells) {
  return HtmlEscaped(std::ranges::find(cells, std::optional(value), &HeatCell::value)->text);
}

// The key to the colours: "8.31 [seven patches] 345".
std::string Key(const HeatMap& map) {
  if (map.by_row) {
    return "<p class=\"scale\">The colours of each row are on a scale of its own.</p>";
  }
  const std::vector<HeatCell> cells = AllOf(map);
  const HeatScale scale = ScaleOf(cells);
  if (scale.low > scale.high) return "";
  std::string patches;
  for (std::size_t heat = 0; heat < kHeats; ++heat)
    patches += fmt::format("<i class=\"h{}\"></i>", heat);
  return fmt::format("<p class=\"scale\">{} {} {}{}</p>", TextOf(scale.low, cells), patches,
                     TextOf(scale.high, cells), scale.logarithmic ? ", logarithmic" : "");
}

using CellOf = std::function<HeatCell(std::size_t group)>;

std::vector<std::vector<HeatCell>> CellsOf(const FacetGrid& grid, const CellOf& cell_of) {
  std::vector<std::vector<HeatCell>> cells;
  for (const auto& row : grid.groups) {
    cells.emplace_back();
    for (const auto& group : row) cells.back().push_back(group ? cell_of(*group) : HeatCell{});
  }
  return cells;
}

// A group without finished runs has no value.
HeatCell PlainCell(const std::optional<double>& value,
                   const std::function<std::string(double)>& text) {
  return {.value = value, .text = value ? text(*value) : "–"};
}

// The steps or seconds that a group took to reach its target.
HeatCell CellOfScore(const Group& group, const Targets& targets, double Moment::*which,
                     const std::function<std::string(double)>& text) {
  const std::optional<double> score = targets.For(group.Env());
  if (!score) return {.text = "–"};
  const GroupToScore time = TimeTo(*score, group.Finished());
  if (time.known == 0) return {.text = "–"};
  const std::string note =
      time.reached < time.known ? fmt::format("{} of {}", time.reached, time.known) : "";
  if (!time.median) return {.text = "never", .note = note};
  const double value = (*time.median).*which;
  return {.value = value, .text = text(value), .note = note};
}

std::optional<double> MeanStaleness(const Group& group) {
  std::vector<double> means;
  for (const results::LoadedRun* run : group.Finished())
    means.push_back(run->summary->staleness.mean);
  return means.empty() ? std::nullopt : std::optional(results::Mean(means));
}

// "10", or "10 or 40" where environments have different targets.
std::string ScoresAsked(const std::vector<Group>& groups, const Targets& targets) {
  std::vector<std::string> asked;
  for (const Group& group : groups) {
    const std::optional<double> score = targets.For(group.Env());
    if (!score) continue;
    const std::string text = fmt::format("{:g}", *score);
    if (std::ranges::count(asked, text) == 0) asked.push_back(text);
  }
  return fmt::format("{}", fmt::join(asked, " or "));
}

std::string Short(double value) {
  return std::abs(value) < 99.95 ? results::Decimals(value) : fmt::format("{:.0f}", value);
}

}  // namespace

HeatScale ScaleOf(const std::vector<HeatCell>& cells) {
  Extent all;
  for (const HeatCell& cell : cells) {
    if (cell.value) all.Add(*cell.value);
  }
  return {all.low, all.high, all.low > 0 && all.high > kFarApart * all.low};
}

std::size_t HeatOf(double value, const HeatScale& scale) {
  if (!(scale.low < scale.high)) return kHeats / 2;
  const double share = scale.logarithmic
                           ? std::log(value / scale.low) / std::log(scale.high / scale.low)
                           : (value - scale.low) / (scale.high - scale.low);
  const auto part = static_cast<std::size_t>(std::max(share, 0.0) * kHeats);
  return std::min(part, kHeats - 1);
}

std::string DrawHeatMap(const HeatMap& map, const FacetGrid& grid) {
  // 1. The head names the columns.
  std::string head = fmt::format("<th class=\"word\">{}</th>", HtmlEscaped(grid.RowKeyShort())),
              rows;
  for (const std::string& column : grid.columns)
    head += "<th scope=\"col\">" + HtmlEscaped(column) + "</th>";
  // 2. A row of cells for each row of the grid.
  const HeatScale of_all = ScaleOf(AllOf(map));
  for (std::size_t row = 0; row < grid.rows.size(); ++row) {
    const HeatScale scale = map.by_row ? ScaleOf(map.cells[row]) : of_all;
    rows += "<tr><th>" + HtmlEscaped(grid.rows[row]) + "</th>";
    for (const HeatCell& cell : map.cells[row]) rows += DrawCell(cell, scale);
    rows += "</tr>\n";
  }
  return Figure(
      map.caption,
      fmt::format("<div class=\"wide\"><table class=\"heat\">\n<thead><tr><th></th><th "
                  "colspan=\"{}\">{}</th></tr>\n<tr>{}</tr></thead>\n<tbody>\n{}</tbody></table>"
                  "</div>\n{}",
                  grid.columns.size(), HtmlEscaped(grid.ColumnKey()), head, rows, Key(map)));
}

std::string HeatSection(const std::vector<Group>& groups, const FacetGrid* grid, Measure measure,
                        const Targets& targets) {
  if (grid == nullptr) return "";
  // 1. Compute the numbers of all groups.
  std::vector<GroupNumbers> numbers;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    numbers.push_back(NumbersOf(groups[g], measure, static_cast<std::uint32_t>(g)));
  }
  // 2. Draw a map for each quantity.
  const bool apart = grid->rows_are_envs();
  std::string maps;
  const auto add = [&](const std::string& caption, bool by_row, const CellOf& cell_of) {
    maps += DrawHeatMap({HtmlEscaped(caption), CellsOf(*grid, cell_of), by_row}, *grid);
  };
  if (const std::string scores = ScoresAsked(groups, targets); !scores.empty()) {
    add(fmt::format("seconds to a return of {}, median", scores), apart, [&](std::size_t g) {
      return CellOfScore(groups[g], targets, &Moment::seconds, SecondsText);
    });
    add(fmt::format("steps to a return of {}, median", scores), apart,
        [&](std::size_t g) { return CellOfScore(groups[g], targets, &Moment::steps, HumanCount); });
  }
  add("final return, interquartile mean", apart, [&](std::size_t g) {
    const auto& returns = numbers[g].returns;
    return PlainCell(returns ? std::optional(returns->interquartile_mean) : std::nullopt, Short);
  });
  add("steps per second, mean", false,
      [&](std::size_t g) { return PlainCell(numbers[g].steps_per_second, HumanCount); });
  add("realised staleness, mean of the runs' means", false,
      [&](std::size_t g) { return PlainCell(MeanStaleness(groups[g]), Short); });
  return fmt::format(
      "<h2>{} by {}</h2>\n<p class=\"faint\">Of finished runs. The stronger the colour, the larger "
      "the number.</p>\n<div{}>\n{}</div>\n",
      HtmlEscaped(grid->row_key), HtmlEscaped(grid->ColumnKey()),
      grid->columns.size() > kMaxBeside ? "" : " class=\"figures\"", maps);
}

}  // namespace starling::report
