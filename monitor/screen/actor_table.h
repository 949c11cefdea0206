// The table of actors: all of them in the order of their slots where there is room, else those that
// deserve a look first, and a word on the others.
#pragma once

#include <cstddef>
#include <vector>

#include "monitor/actor_rows.h"
#include "monitor/screen/canvas.h"

namespace starling::monitor {

// Columns of a table; the narrow one has less to tell.
inline constexpr int kTableColumns = 53, kNarrowTableColumns = 47, kTableGap = 3;

// How many tables fit side by side.
int TablesAbreast(int columns);

// The rows in the order in which they are shown if only `room` of them are: by slot if all fit, else
// dead, silent and starting ones first, then those that are less than half as fast as the median,
// slowest first, then by slot.
std::vector<ActorRow> InOrder(std::vector<ActorRow> rows, std::size_t room);

void DrawActorTable(Canvas& canvas, const Area& area, const std::vector<ActorRow>& rows, bool utf8);

}  // namespace starling::monitor
