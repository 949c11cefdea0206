// The screen of a run as lines of text, by a pure function.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "monitor/progress.h"
#include "monitor/run_history.h"
#include "monitor/screen/canvas.h"

namespace starling::monitor {

// Returns the block to draw; its last line is empty, for the cursor and typed characters. Returns
// no lines if the terminal is too small: then only the bar fits.
std::vector<std::string> ScreenLines(const RunView& view, const ProgressStyle& style);

// ---- the places of the panels

struct Layout {
  int height = 0;  // rows of all panels together
  Area title;
  std::optional<Area> returns, rate, staleness, actors;
  Area bottleneck;
};

// A smaller terminal shows the bar alone.
inline constexpr int kMinColumns = 60, kMinRows = 16;

// A pure function of the terminal's size and the number of actors, so that no panel moves while a
// run goes on. Returns nullopt if the terminal of `columns` x `rows` is too small.
std::optional<Layout> PlanScreen(int columns, int rows, int actors);

}  // namespace starling::monitor
