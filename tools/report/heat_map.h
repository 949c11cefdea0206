// A number for each group of a grid, as a table whose colours tell large from small. Like the
// figures it holds no colour itself: classes, and the style sheet decides.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tools/report/facet_grid.h"
#include "tools/report/score.h"
#include "tools/report/to_score.h"

namespace starling::report {

inline constexpr std::size_t kHeats = 7;  // classes h0 (the least) to h6

struct HeatCell {
  std::optional<double> value{};  // decides the colour; nothing: a cell without one
  std::string text{};             // "" where there is no such group
  std::string note{};             // small, below
};

struct HeatMap {
  std::string caption;
  std::vector<std::vector<HeatCell>> cells;  // as the groups of the grid
  bool by_row = false;                       // each row has a scale of its own
};

struct HeatScale {
  double low = 0, high = 0;
  bool logarithmic = false;
};
// From the least to the largest value of the cells; logarithmic if they are far apart, and above 0.
HeatScale ScaleOf(const std::vector<HeatCell>& cells);
// Equal parts of the scale; the middle one if all values are the same.
std::size_t HeatOf(double value, const HeatScale& scale);

std::string DrawHeatMap(const HeatMap& map, const FacetGrid& grid);

// Seconds and steps to the score, if one is asked for; final score, steps per second and realised
// staleness. "" without a grid.
std::string HeatSection(const std::vector<Group>& groups, const FacetGrid* grid, Measure measure,
                        const Targets& targets);

}  // namespace starling::report
