// The table of actors: all of them by slot if they fit, else those that deserve a look first, and a
// line about the others.
#pragma once

#include <cstddef>
#include <vector>

#include "monitor/run_history.h"
#include "monitor/screen/canvas.h"

namespace starling::monitor {

// Columns of a table; the narrow one leaves out "waits".
inline constexpr int kTableColumns = 53, kNarrowTableColumns = 47, kTableGap = 3;

// Returns the number of tables that fit side by side.
int TablesAbreast(int columns);

// Returns the rows in the order for a table with `room` lines: by slot if all fit, else dead,
// silent and starting ones first, then those less than half as fast as the median (slowest first),
// then the others by slot.
std::vector<ActorRow> InOrder(std::vector<ActorRow> rows, std::size_t room);

void DrawActorTable(Canvas& canvas, const Area& area, const std::vector<ActorRow>& rows, bool utf8);

}  // namespace starling::monitor
