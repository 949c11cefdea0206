// Draws a number over time as a line of dots in a frame: braille with UTF-8 (two by four dots in a
// character), else asterisks.
#pragma once

#include <string>

#include "monitor/screen/canvas.h"
#include "monitor/series.h"

namespace starling::monitor {

struct CurvePanel {
  std::string title;
  std::string newest;      // value at the right of the title
  const Series* series;    // never null
  double until_s = 15;     // end of the time axis
  bool from_zero = false;  // the value axis begins at 0
  std::string if_empty;    // text in place of the line
};

// The smallest useful height: title, two lines of dots, time axis.
inline constexpr int kMinCurveHeight = 4;

void DrawCurvePanel(Canvas& canvas, const Area& area, const CurvePanel& panel, bool utf8);

}  // namespace starling::monitor
