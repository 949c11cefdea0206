// Found instead of xxHash by the build without libraries (cmake/bare.cmake).
#pragma once

#include "bench/bare/libraries.h"

inline std::uint64_t XXH64(const void* data, std::size_t size, std::uint64_t seed) {
  return starling::bare::Xxh64(data, size, seed);
}
