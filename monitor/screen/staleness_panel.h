// The staleness of every gradient applied so far, as bars, and where the bound is: nothing may stand
// right of it.
#pragma once

#include <cstdint>
#include <vector>

#include "learner/status.h"
#include "monitor/screen/canvas.h"

namespace starling::monitor {

// How counts become bars in so many columns.
struct StalenessBars {
  std::vector<double> shares;  // of all gradients, one for each bar
  std::uint64_t values = 1;    // of staleness in a bar: the first holds 0 to values - 1
  int columns = 1;             // that a bar has, with the gap behind it
  bool open = false;           // the last bar holds all that is more, too
  int bound_column = -1;       // where the line right of the bound stands; -1: beyond what is shown
};

// Shows all up to the bound if that is not far more than there is, else up to what 99.5 % of the
// gradients stay below. `bound` is kUnbounded for none; the line needs a column of its own.
StalenessBars ArrangeStaleness(const std::vector<std::uint64_t>& histogram, std::uint64_t bound,
                               int columns);

void DrawStalenessPanel(Canvas& canvas, const Area& area, const learner::StalenessStatus& staleness,
                        std::uint64_t bound, bool utf8);

}  // namespace starling::monitor
