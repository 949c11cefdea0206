// `starling-bare bench`: the speed of actors with and without the GPU, as lines of text and as
// JSON.
#pragma once

#include <string>

namespace starling::bare {

// Spends about `seconds` on each line. Returns every number as a JSON object. A line that cannot be
// measured holds the reason.
std::string MeasureSpeed(double seconds, bool quick);

}  // namespace starling::bare
