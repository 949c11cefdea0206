// Draws the staleness of every gradient applied so far as bars, and the bound as a line: no bar may
// stand right of it.
#pragma once

#include <cstdint>
#include <vector>

#include "learner/run_status.h"
#include "monitor/chart.h"
#include "monitor/screen/canvas.h"

namespace starling::monitor {

// How a histogram becomes bars in a given number of columns.
struct StalenessBars {
  StalenessBins bins;
  int columns = 1;        // of a bar, with the gap after it
  int bound_column = -1;  // where the line right of the bound stands; -1: beyond the last bar
};

// Shows every value up to the bound, or (if the bound is far beyond the values) up to a round
// number that 99.5 % of the gradients do not exceed. `bound` is kUnbounded for none. The line of
// the bound takes one of `columns`.
StalenessBars ArrangeStaleness(const std::vector<std::uint64_t>& histogram, std::uint64_t bound,
                               int columns);

void DrawStalenessPanel(Canvas& canvas, const Area& area, const learner::StalenessStatus& staleness,
                        std::uint64_t bound, bool utf8);

}  // namespace starling::monitor
