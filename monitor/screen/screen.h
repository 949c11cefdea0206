// The operator's screen as lines of text. Pure.
#pragma once

#include <string>
#include <vector>

#include "monitor/progress.h"
#include "monitor/run_history.h"

namespace starling::monitor {

// To be drawn over, the last of them an empty one for the cursor (what is typed shows there). None
// if the terminal is too small: there is the bar for it.
std::vector<std::string> ScreenLines(const RunView& view, const ProgressStyle& style);

}  // namespace starling::monitor
