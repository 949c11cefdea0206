// The sections of a page, as HTML. Nothing in them is a colour: they hold classes, and the style
// sheet (style.h) gives these a colour for light and for dark pages.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "monitor/svg/plot.h"
#include "tools/report/groups.h"

namespace starling::report {

// ---- Tables (tables.cc)

// A short piece of a line in this style, for legends and tables.
std::string Chip(std::size_t style);
// A legend: the style and the name of each line.
std::string Legend(const std::vector<std::pair<std::size_t, std::string>>& lines);
// A table, folded under "all 24 groups" if it has many rows.
std::string LongTable(const std::string& head, const std::vector<std::string>& rows,
                      const char* of);
// A row per group: its numbers, and what limits its speed.
std::string ResultTable(const std::vector<Group>& groups, Measure measure);
// A row per group with a target; "" if there is none.
std::string ToScoreTable(const std::vector<Group>& groups, const Targets& targets);
// A row per key in which groups differ, or per group if there are many; "" if they do not differ.
std::string DifferenceTable(const std::vector<Group>& groups);
// A row per run, in any state; of more than 200 runs, a sentence and a row for each run that has
// not finished or has a remark.
std::string RunTable(const std::vector<results::LoadedRun>& runs, const std::vector<Group>& groups,
                     Measure measure);

// ---- Curves (figures.cc)

constexpr std::size_t kPointsOfGroup = 120;  // of a curve, at most: more than the eye tells apart
constexpr std::size_t kPointsOfSmall = 40;   // in a small figure
constexpr std::size_t kMaxThin = 12;         // runs of a group drawn one by one, at most
constexpr std::size_t kMaxTogether = 8;      // groups in one figure, if a grid can separate them
constexpr double kWindows = 60;              // of throughput, in the longest run

// Learning, evaluation (if there was any) and throughput. Returns have a figure per environment,
// because environments share no scale. With a `grid` each of its rows has a small figure, all on
// one scale.
std::string CurveSections(const std::vector<Group>& groups,
                          const std::vector<results::LoadedRun>& runs, const FacetGrid* grid);

// ---- Heat maps (heat_map.cc): a number for each group of a grid

inline constexpr std::size_t kHeats = 7;  // classes h0 (lowest) to h6

struct HeatCell {
  std::optional<double> value{};  // decides the colour; nullopt: no colour
  std::string text{};             // "": there is no such group
  std::string note{};             // small, below the text
};

struct HeatMap {
  std::string caption;
  std::vector<std::vector<HeatCell>> cells;  // as FacetGrid::groups
  bool by_row = false;                       // each row has its own scale
};

struct HeatScale {
  double low = 0, high = 0;
  bool logarithmic = false;
};
// Spans all values of the cells; logarithmic if they are positive and far apart.
HeatScale ScaleOf(const std::vector<HeatCell>& cells);
// Divides the scale into kHeats equal parts; the middle part if all values are the same.
std::size_t HeatOf(double value, const HeatScale& scale);

std::string DrawHeatMap(const HeatMap& map, const FacetGrid& grid);

// Seconds and steps to the targets, final score, steps per second, realised staleness. "" without
// a grid.
std::string HeatSection(const std::vector<Group>& groups, const FacetGrid* grid, Measure measure,
                        const Targets& targets);

// ---- Returns against the values of a key (by_value.cc)

// The columns of a grid as lines: the values of their first key are places from left to right,
// evenly spaced, and each combination of their other keys is a line.
struct ValueLines {
  struct Cell {
    std::size_t place = 0, line = 0;
  };
  std::string key;                  // "staleness.delay"
  std::vector<std::string> places;  // "0", "4", "∞", in order
  std::vector<std::string> lines;   // "correction = gap"; "" if the columns have only one key
  std::vector<Cell> cells;          // of each column
};
// Returns nullopt unless the first key has at least three values, numbers or "unbounded".
std::optional<ValueLines> ValueLinesOf(const FacetGrid& grid);

struct ByValueEstimate {
  std::optional<double> value{};
  std::optional<results::Interval> interval{};
};
// `columns` has one for each column of the grid.
monitor::Plot PlotByValue(const ValueLines& lines, const std::vector<ByValueEstimate>& columns);
std::string LegendOf(const ValueLines& lines);  // "" for a single line

// A small figure for each row of `grid`; "" unless it has ValueLines.
std::string ByValueSection(const std::vector<Group>& groups, const FacetGrid* grid,
                           Measure measure);

// ---- All environments together (over_envs.cc)

inline constexpr char kOverEnvs[] = "All environments together";  // its heading

// What each column of the grid reaches over all environments, beside the first: interquartile
// means, probabilities of improvement and, unless there are more columns than styles, performance
// profiles (results/over_tasks.h). A sentence if fewer than two columns can be compared in two
// environments; "" unless the rows are environments.
std::string OverEnvsSection(const std::vector<Group>& groups, const FacetGrid* grid,
                            Measure measure);

// ---- Histograms of staleness (staleness.cc)

// Number of applied gradients of staleness 0, 1, ...
using Counts = std::vector<std::uint64_t>;

// Bars for all of `groups`: enough that of each group at most one gradient in a thousand lies
// beyond, and wide enough that there are at most `most`.
struct Bars {
  std::size_t width = 1, number = 1;
};
Bars BarsFor(const std::vector<Counts>& groups, std::size_t most);

// A histogram per group, in the rows of `grid` if there is one; equal rows are drawn once.
std::string StalenessSection(const std::vector<Group>& groups, const FacetGrid* grid = nullptr);

}  // namespace starling::report
