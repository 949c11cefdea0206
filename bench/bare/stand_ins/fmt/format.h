// Found instead of fmt by the build without libraries (cmake/bare.cmake).
#pragma once

#include <array>

#include "bench/bare/libraries.h"

namespace fmt {

template <class... Args>
std::string format(std::string_view pattern, const Args&... args) {
  const std::array<starling::bare::Value, sizeof...(args)> values = {
      starling::bare::ValueOf(args)...};
  return starling::bare::Format(pattern, values);
}

}  // namespace fmt
