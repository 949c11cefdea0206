// The frame of a panel: a title, an axis at the left and one below.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "monitor/screen/canvas.h"

namespace starling::monitor {

// Columns left of a plot: seven for labels, so that the axis never moves, and one for the axis.
inline constexpr int kAxisColumns = 8;

// Returns the area of the plot: `panel` without its title and axes.
Area PlotOf(const Area& panel);

// `title` at the left, `newest` at the right.
void DrawTitle(Canvas& canvas, const Area& panel, std::string_view title, std::string_view newest);

struct Mark {
  int at = 0;  // the row or column of the canvas
  std::string text;
};
// Draws the axis left of `plot`, with marks on some of its rows.
void DrawLeftAxis(Canvas& canvas, const Area& plot, const std::vector<Mark>& rows, bool utf8);
// Draws the axis below `plot`. Each mark is written into it from its column on.
void DrawLowerAxis(Canvas& canvas, const Area& plot, const std::vector<Mark>& columns, bool utf8);

}  // namespace starling::monitor
