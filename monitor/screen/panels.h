// The panels of the screen. Each draws on an area of the canvas.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "learner/run_status.h"
#include "monitor/chart.h"
#include "monitor/run_history.h"
#include "monitor/screen/canvas.h"
#include "monitor/series.h"

namespace starling::monitor {

// ---- a curve (curve.cc)

struct CurvePanel {
  std::string title;
  std::string newest;      // value at the right of the title
  const Series* series;    // never null
  double until_s = 15;     // end of the time axis
  bool from_zero = false;  // the value axis begins at 0
  std::string if_empty;    // text in place of the line
};

// Draws a number over time as a line of dots in a frame: braille with UTF-8 (two by four dots in a
// character), else asterisks.
void DrawCurvePanel(Canvas& canvas, const Area& area, const CurvePanel& panel, bool utf8);

// ---- the staleness (staleness_panel.cc)

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

// Draws the staleness of every gradient applied so far as bars, and the bound as a line: no bar may
// stand right of it.
void DrawStalenessPanel(Canvas& canvas, const Area& area, const learner::StalenessStatus& staleness,
                        std::uint64_t bound, bool utf8);

// ---- the actors (actor_table.cc)

// Columns of a table; the narrow one leaves out "waits".
inline constexpr int kTableColumns = 53, kNarrowTableColumns = 47, kTableGap = 3;

// Returns the number of tables that fit side by side.
int TablesAbreast(int columns);

// Returns the rows in the order for a table with `room` lines: by slot if all fit, else dead,
// silent and starting ones first, then those less than half as fast as the median (slowest first),
// then the others by slot.
std::vector<ActorRow> InOrder(std::vector<ActorRow> rows, std::size_t room);

// All actors by slot if they fit, else those that deserve a look first, and a line about the
// others.
void DrawActorTable(Canvas& canvas, const Area& area, const std::vector<ActorRow>& rows, bool utf8);

}  // namespace starling::monitor
