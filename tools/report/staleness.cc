#include <algorithm>
#include <functional>

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

// Returns the last staleness that has a bar. At most one gradient in a thousand lies beyond; all of
// these share the next bar.
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

std::string InRows(const FacetGrid& grid, const Draw& draw) {
  std::string rows;
  for (std::size_t row = 0; row < grid.rows.size(); ++row) {
    rows += "<h3>" + HtmlEscaped(grid.RowName(row)) + "</h3>\n<div class=\"tiny\">\n";
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
         (grid != nullptr ? InRows(*grid, draw) : InOneBlock(groups, draw));
}

}  // namespace starling::report
