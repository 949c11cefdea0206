// The screen of a run as lines of text, by a pure function.
#pragma once

#include <string>
#include <vector>

#include "monitor/progress.h"
#include "monitor/run_history.h"

namespace starling::monitor {

// Returns the block to draw; its last line is empty, for the cursor and typed characters. Returns
// no lines if the terminal is too small: then only the bar fits.
std::vector<std::string> ScreenLines(const RunView& view, const ProgressStyle& style);

}  // namespace starling::monitor
