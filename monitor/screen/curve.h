// A number over time as a line of dots in a frame: braille where there is UTF-8 (two by four dots a
// character), asterisks elsewhere.
#pragma once

#include <string>

#include "monitor/screen/canvas.h"
#include "monitor/series.h"

namespace starling::monitor {

struct CurvePanel {
  std::string title;
  std::string newest;      // at the right of the title
  const Series* series;    // not null
  double until_s = 15;     // the end of its axis of time
  bool from_zero = false;  // the axis of values begins there
  std::string if_empty;    // said instead of a line
};

// The least that shows anything: title, two lines of dots, axis of time.
inline constexpr int kLeastCurveHeight = 4;

void DrawCurvePanel(Canvas& canvas, const Area& area, const CurvePanel& panel, bool utf8);

}  // namespace starling::monitor
