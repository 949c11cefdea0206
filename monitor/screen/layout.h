// What stands where on the screen. Pure: from a size to areas, which do not depend on what has
// happened in the run, so that nothing jumps.
#pragma once

#include <optional>

#include "monitor/screen/canvas.h"

namespace starling::monitor {

struct Layout {
  int height = 0;  // of all, no more than there is to fill
  Area title;
  std::optional<Area> returns, rate, staleness, actors;
  Area bottleneck;
};

// Smaller than this there is the bar alone.
inline constexpr int kLeastColumns = 60, kLeastRows = 16;

// Nothing if `columns` x `rows`, the size of the terminal, is too small.
std::optional<Layout> PlanScreen(int columns, int rows, int actors);

}  // namespace starling::monitor
