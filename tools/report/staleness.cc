#include <algorithm>
#include <functional>
#include <utility>

#include "monitor/chart.h"
#include "monitor/svg/html.h"
#include "monitor/svg/plot.h"
#include "tools/report/sections.h"

namespace starling::report {
namespace {

using monitor::DrawHistogram;
using monitor::Figure;
using monitor::HtmlEscaped;

constexpr std::size_t kMaxBars = 25, kMinBars = 4;
constexpr std::size_t kMaxInGrid = 48;  // thin bars: small bounds stay visible beside large ones

Counts CountsOf(const Group& group) {
  Counts counts;
  for (const results::LoadedRun* run : group.runs) {
    if (!run->summary) continue;
    const Counts& own = run->summary->staleness.histogram;
    counts.resize(std::max(counts.size(), own.size()));
    for (std::size_t tau = 0; tau < own.size(); ++tau) counts[tau] += own[tau];
  }
  return counts;
}

// Returns the staleness of the last bar. Only one gradient in a thousand may lie beyond the bar
// before it; all of these share the last one.
std::size_t LastOf(const Counts& counts) {
  const std::uint64_t almost_all = monitor::StalenessQuantile(counts, 999);
  const auto beyond = counts.begin() + static_cast<std::ptrdiff_t>(
                                           std::min<std::size_t>(almost_all + 1, counts.size()));
  return almost_all + (std::any_of(beyond, counts.end(), [](auto n) { return n > 0; }) ? 1 : 0);
}

double LargestShare(const monitor::StalenessBins& bins) {
  double largest = 0;
  for (std::size_t i = 0; i < bins.counts.size(); ++i) largest = std::max(largest, bins.Share(i));
  return largest;
}

using Draw = std::function<std::string(std::size_t group, const std::string& caption)>;

std::string InOneBlock(const std::vector<Group>& groups, const Draw& draw) {
  std::string panels;
  for (std::size_t g = 0; g < groups.size(); ++g) panels += draw(g, groups[g].label);
  return "<div class=\"panels\">\n" + panels + "</div>\n";
}

// Rows that look the same are drawn once: in virtual time all games have the same staleness.
std::string InRows(const FacetGrid& grid, const std::vector<Counts>& counts, const Draw& draw) {
  // 1. Find the rows that look the same, and their names.
  const auto row_of = [&](std::size_t row) {
    std::vector<Counts> cells;
    for (const auto& group : grid.groups[row]) cells.push_back(group ? counts[*group] : Counts{});
    return cells;
  };
  std::vector<std::pair<std::size_t, std::string>> blocks;
  for (std::size_t row = 0; row < grid.rows.size(); ++row) {
    const auto same = std::ranges::find_if(
        blocks, [&](const auto& block) { return row_of(block.first) == row_of(row); });
    if (same == blocks.end()) {
      blocks.emplace_back(row, grid.RowName(row));
    } else {
      same->second += ", " + grid.rows[row];
    }
  }
  // 2. Draw each of them.
  std::string rows;
  for (const auto& [row, names] : blocks) {
    rows += "<h3>" + HtmlEscaped(names) + "</h3>\n<div class=\"tiny\">\n";
    for (std::size_t column = 0; column < grid.columns.size(); ++column) {
      const std::optional<std::size_t> group = grid.groups[row][column];
      if (group) rows += draw(*group, grid.column_names[column]);
    }
    rows += "</div>\n";
  }
  return rows;
}

}  // namespace

Bars BarsFor(const std::vector<Counts>& groups, std::size_t most) {
  std::size_t last = kMinBars - 1;
  for (const Counts& counts : groups) last = std::max(last, LastOf(counts));
  const std::size_t width = last / most + 1;
  return {.width = width, .number = last / width + 1};
}

std::string StalenessSection(const std::vector<Group>& groups, const FacetGrid* grid) {
  // 1. Choose bars and a scale of shares for all groups.
  std::vector<Counts> counts;
  for (const Group& group : groups) counts.push_back(CountsOf(group));
  const Bars bars = BarsFor(counts, grid != nullptr ? kMaxInGrid : kMaxBars);
  double top = 0;
  const auto binned = [&](const Counts& of_group) {
    return monitor::BinStaleness(of_group, bars.number, bars.width);
  };
  for (const Counts& of_group : counts) top = std::max(top, LargestShare(binned(of_group)));
  // 2. Draw each group.
  const auto draw = [&](std::size_t g, const std::string& caption) {
    const std::size_t style = groups[g].style;
    return Figure(Chip(style) + HtmlEscaped(caption),
                  DrawHistogram(binned(counts[g]), top, style, grid != nullptr));
  };
  return "<h2>Realised staleness</h2>\n<p class=\"faint\">How many updates came between the "
         "weights a gradient was computed on and those it was applied to: all applied gradients of "
         "a group's runs that left a summary." +
         std::string(grid != nullptr ? " Across: staleness; up: share in %." : "") + "</p>\n" +
         (grid != nullptr ? InRows(*grid, counts, draw) : InOneBlock(groups, draw));
}

}  // namespace starling::report
