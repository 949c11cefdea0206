// What the panels of the screen have in common: a title, an axis at the left and one below.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "monitor/screen/canvas.h"

namespace starling::monitor {

// Columns left of a plot: seven for what is written at its axis, which therefore never moves, and
// the axis.
inline constexpr int kAxisColumns = 8;

// What is left for the plot: a title above it, axes at the left and below.
Area PlotOf(const Area& panel);

// `title` at the left, `newest` at the right.
void DrawTitle(Canvas& canvas, const Area& panel, std::string_view title, std::string_view newest);

struct Mark {
  int at = 0;  // the row or column of the canvas
  std::string text;
};
// The axis left of `plot`, with marks on some of its rows.
void DrawLeftAxis(Canvas& canvas, const Area& plot, const std::vector<Mark>& rows, bool utf8);
// The axis below `plot`, each mark written into it from its column on.
void DrawLowerAxis(Canvas& canvas, const Area& plot, const std::vector<Mark>& columns, bool utf8);

}  // namespace starling::monitor
