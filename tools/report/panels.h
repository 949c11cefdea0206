// One quantity of all groups as figures: which groups share a figure, and on which scale.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tools/report/facet_grid.h"
#include "tools/report/plot.h"

namespace starling::report {

// What is drawn of a run, and how it is called.
struct Quantity {
  std::string caption, x_label, y_label, if_empty;
  std::function<Samples(const results::LoadedRun&)> samples_of;
  bool of_env = true;      // returns: no scale in common between environments
  bool from_zero = false;  // y
  bool dots = false;       // mark every sample of a group
};

// Chip and name of all that have a style of their own: groups, or the columns of `grid`.
std::string Legend(const std::vector<Group>& groups, const FacetGrid* grid);

// Without a grid the quantities stand beside each other, a row of them for each environment; with
// one each quantity is a row of small figures, one for each row of the grid.
std::string DrawQuantities(const std::vector<Quantity>& quantities,
                           const std::vector<Group>& groups, const FacetGrid* grid);

}  // namespace starling::report
