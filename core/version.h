// The line that `--version` prints.
#pragma once

#include <string>

namespace starling {

// "starling 0.1.0 (release, g++ 12.2, native, oneDNN 2.6.3, ZeroMQ 4.3.4, no CUDA)"
std::string VersionLine(const std::string& program);

}  // namespace starling
