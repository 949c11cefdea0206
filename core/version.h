// The lines that name a program.
#pragma once

#include <string>

namespace starling {

// "starling 0.1.0 (release, g++ 12.2, native, oneDNN 2.6.3, ZeroMQ 4.3.4, no CUDA)": the same on
// every machine.
std::string BuildLine(const std::string& program);

// That `--version` prints: a portable build also names its instructions on this machine, "portable
// with avx512".
std::string VersionLine(const std::string& program);

}  // namespace starling
