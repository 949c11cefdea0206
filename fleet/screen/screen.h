// The operator's screen as lines of text. Pure.
#pragma once

#include <string>
#include <vector>

#include "fleet/progress.h"
#include "fleet/screen/watch.h"

namespace starling::fleet {

// To be drawn over, the last of them an empty one for the cursor (what is typed shows there). None
// if the terminal is too small: there is the bar for it.
std::vector<std::string> ScreenLines(const ScreenView& view, const ProgressStyle& style);

}  // namespace starling::fleet
