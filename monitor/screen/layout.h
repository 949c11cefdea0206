// The places of the panels on the screen: a pure function of the terminal's size and the number of
// actors, so that no panel moves while a run goes on.
#pragma once

#include <optional>

#include "monitor/screen/canvas.h"

namespace starling::monitor {

struct Layout {
  int height = 0;  // rows of all panels together
  Area title;
  std::optional<Area> returns, rate, staleness, actors;
  Area bottleneck;
};

// A smaller terminal shows the bar alone.
inline constexpr int kMinColumns = 60, kMinRows = 16;

// Returns nullopt if the terminal of `columns` x `rows` is too small.
std::optional<Layout> PlanScreen(int columns, int rows, int actors);

}  // namespace starling::monitor
