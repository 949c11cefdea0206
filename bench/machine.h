// What the figures were measured on.
#pragma once

#include <string>

namespace starling::bench {

// "AMD EPYC 9R14, 2 cores, 8 GB of memory; starling 0.1.0 (release, g++ 12.2, native, ...)".
// Cores are those that this process may use.
std::string HardwareLine();

}  // namespace starling::bench
