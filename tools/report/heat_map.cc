#include "tools/report/heat_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tools/report/html.h"

namespace starling::report {
namespace {

constexpr double kFarApart = 20;  // largest over least

std::string DrawCell(const HeatCell& cell, const HeatScale& scale) {
  if (cell.text.empty()) return "<td class=\"none\" title=\"there is no such run\"></td>";
  const std::string how =
      cell.value ? fmt::format("h{}", HeatOf(*cell.value, scale)) : std::string("never");
  const std::string note =
      cell.note.empty() ? "" : fmt::format("<small>{}</small>", Escaped(cell.note));
  return Cell(Escaped(cell.text) + note, how.c_str());
}

std::vector<HeatCell> AllOf(const HeatMap& map) {
  std::vector<HeatCell> all;
  for (const auto& row : map.cells) all.insert(all.end(), row.begin(), row.end());
  return all;
}

// The text of the cell with this value.
std::string TextOf(double value, const std::vector<HeatCell>& cells) {
  return Escaped(std::ranges::find(cells, std::optional(value), &HeatCell::value)->text);
}

// "8.31 [seven patches] 345": what the colours mean.
std::string Key(const HeatMap& map) {
  if (map.by_row)
    return "<p class=\"scale\">The colours of each row are on a scale of its own.</p>";
  const std::vector<HeatCell> cells = AllOf(map);
  const HeatScale scale = ScaleOf(cells);
  if (scale.low > scale.high) return "";
  std::string patches;
  for (std::size_t heat = 0; heat < kHeats; ++heat)
    patches += fmt::format("<i class=\"h{}\"></i>", heat);
  return fmt::format("<p class=\"scale\">{} {} {}{}</p>", TextOf(scale.low, cells), patches,
                     TextOf(scale.high, cells), scale.logarithmic ? ", logarithmic" : "");
}

}  // namespace

HeatScale ScaleOf(const std::vector<HeatCell>& cells) {
  HeatScale scale{.low = std::numeric_limits<double>::infinity(),
                  .high = -std::numeric_limits<double>::infinity()};
  for (const HeatCell& cell : cells) {
    if (!cell.value) continue;
    scale.low = std::min(scale.low, *cell.value);
    scale.high = std::max(scale.high, *cell.value);
  }
  scale.logarithmic = scale.low > 0 && scale.high > kFarApart * scale.low;
  return scale;
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
  std::string head = fmt::format("<th class=\"word\">{}</th>", Escaped(grid.RowKeyShort())), rows;
  for (const std::string& column : grid.columns)
    head += "<th scope=\"col\">" + Escaped(column) + "</th>";
  const HeatScale of_all = ScaleOf(AllOf(map));
  for (std::size_t row = 0; row < grid.rows.size(); ++row) {
    const HeatScale scale = map.by_row ? ScaleOf(map.cells[row]) : of_all;
    rows += "<tr><th>" + Escaped(grid.rows[row]) + "</th>";
    for (const HeatCell& cell : map.cells[row]) rows += DrawCell(cell, scale);
    rows += "</tr>\n";
  }
  return Figure(
      map.caption,
      fmt::format("<div class=\"wide\"><table class=\"heat\">\n<thead><tr><th></th><th "
                  "colspan=\"{}\">{}</th></tr>\n<tr>{}</tr></thead>\n<tbody>\n{}</tbody></table>"
                  "</div>\n{}",
                  grid.columns.size(), Escaped(grid.column_key), head, rows, Key(map)));
}

}  // namespace starling::report
