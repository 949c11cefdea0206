// The drawings of the page of updates: curves over versions, who took part, and buttons for the
// updates that stand out. All return HTML.
#pragma once

#include <string>
#include <vector>

#include "tools/replay/timeline.h"

namespace starling::replay {

// Each takes at least one update.
std::string DrawCurves(const std::vector<TimelineUpdate>& updates);
std::string DrawWho(const std::vector<TimelineUpdate>& updates);
// The largest staleness, norms and value losses.
std::string LargestOf(const std::vector<TimelineUpdate>& updates);

}  // namespace starling::replay
