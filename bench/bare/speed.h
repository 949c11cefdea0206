// `starling-bare bench`: how fast actors are, with and without the GPU, as lines of text and as
// JSON.
#pragma once

#include <string>

namespace starling::bare {

// About `seconds` for each line. Every number, as a JSON object. A line that cannot be measured
// says why.
std::string MeasureSpeed(double seconds, bool quick);

}  // namespace starling::bare
