// The heat maps of a page: where the good corner of a grid of groups is.
#pragma once

#include <string>
#include <vector>

#include "tools/report/facet_grid.h"
#include "tools/report/score.h"
#include "tools/report/to_score.h"

namespace starling::report {

// Seconds and steps to the score, if one is asked for; final score, steps per second and realised
// staleness. "" without a grid.
std::string HeatSection(const std::vector<Group>& groups, const FacetGrid* grid, Measure measure,
                        const Targets& targets);

}  // namespace starling::report
