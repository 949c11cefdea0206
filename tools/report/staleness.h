// How stale the gradients of each group were: the section of the page.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/report/facet_grid.h"

namespace starling::report {

// Gradients applied of staleness 0, 1, ...
using Counts = std::vector<std::uint64_t>;

// Bars for all of `groups`: so many that of each group no more than one gradient in a thousand lies
// beyond, and so wide that there are no more than `most`.
struct Bars {
  std::size_t width = 1, number = 1;
};
Bars BarsFor(const std::vector<Counts>& groups, std::size_t most);

// A histogram for each group, in the rows of `grid` if there is one.
std::string StalenessSection(const std::vector<Group>& groups, const FacetGrid* grid = nullptr);

}  // namespace starling::report
