// What the numbers and figures of a page mean: its last section.
#pragma once

#include <string>

namespace starling::report {

std::string HowToRead(bool with_scores);

}  // namespace starling::report
