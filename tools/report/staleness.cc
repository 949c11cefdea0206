#include "tools/report/staleness.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "tools/report/html.h"
#include "tools/report/tables.h"

namespace starling::report {
namespace {

constexpr std::size_t kMostBars = 25, kLeastBars = 4;
constexpr std::size_t kMostInPlane =
    48;  // thin ones, so that small bounds are not lost beside large ones
constexpr std::uint64_t kRare = 1000;  // one in so many

std::uint64_t Sum(const Counts& counts) {
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

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

// The staleness beyond which next to nothing lies; one more if something does.
std::size_t LastOf(const Counts& counts) {
  std::uint64_t left = Sum(counts);
  const std::uint64_t rare = left / kRare;
  for (std::size_t tau = 0; tau < counts.size(); ++tau) {
    left -= counts[tau];
    if (left <= rare) return left > 0 ? tau + 1 : tau;
  }
  return 0;
}

double LargestShare(const Histogram& histogram) {
  const auto all = static_cast<double>(std::max<std::uint64_t>(Sum(histogram.bars), 1));
  return static_cast<double>(std::ranges::max(histogram.bars)) / all;
}

using Draw = std::function<std::string(std::size_t group, const std::string& caption)>;

std::string InOneBlock(const std::vector<Group>& groups, const Draw& draw) {
  std::string panels;
  for (std::size_t g = 0; g < groups.size(); ++g) panels += draw(g, groups[g].label);
  return "<div class=\"panels\">\n" + panels + "</div>\n";
}

std::string InRows(const Plane& plane, const Draw& draw) {
  std::string rows;
  for (std::size_t row = 0; row < plane.rows.size(); ++row) {
    rows += "<h3>" + Escaped(plane.RowName(row)) + "</h3>\n<div class=\"tiny\">\n";
    for (std::size_t column = 0; column < plane.columns.size(); ++column) {
      const std::optional<std::size_t> group = plane.groups[row][column];
      if (group) rows += draw(*group, plane.ColumnName(column));
    }
    rows += "</div>\n";
  }
  return rows;
}

}  // namespace

Bars BarsFor(const std::vector<Counts>& groups, std::size_t most) {
  std::size_t last = kLeastBars - 1;
  for (const Counts& counts : groups) last = std::max(last, LastOf(counts));
  const std::size_t width = last / most + 1;
  return {.width = width, .number = last / width + 1};
}

Histogram InBars(const Counts& counts, Bars bars) {
  Histogram histogram{.bars = Counts(bars.number), .width = bars.width};
  for (std::size_t tau = 0; tau < counts.size(); ++tau) {
    histogram.bars[std::min(tau / bars.width, bars.number - 1)] += counts[tau];
  }
  histogram.open = counts.size() > bars.number * bars.width;
  return histogram;
}

std::string StalenessSection(const std::vector<Group>& groups, const Plane* plane) {
  std::vector<Counts> counts;
  for (const Group& group : groups) counts.push_back(CountsOf(group));
  const Bars bars = BarsFor(counts, plane != nullptr ? kMostInPlane : kMostBars);
  double top = 0;
  for (const Counts& of_group : counts) top = std::max(top, LargestShare(InBars(of_group, bars)));
  const auto draw = [&](std::size_t g, const std::string& caption) {
    const std::size_t style = groups[g].style;
    return Figure(Chip(style) + Escaped(caption),
                  DrawHistogram(InBars(counts[g], bars), top, style, plane != nullptr));
  };
  return "<h2>Realised staleness</h2>\n<p class=\"faint\">How many updates came between the "
         "weights a gradient was computed on and those it was applied to: all applied gradients of "
         "a group's runs that left a summary." +
         std::string(plane != nullptr ? " Across: staleness; up: share in %." : "") + "</p>\n" +
         (plane != nullptr ? InRows(*plane, draw) : InOneBlock(groups, draw));
}

}  // namespace starling::report
