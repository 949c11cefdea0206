// Found instead of nlohmann/json by the build without libraries (cmake/bare.cmake): nobody reads
// JSON there but the options of Gymnasium's envs (envs/sticky.cc), and it has none of those.
#pragma once

#include <string>

namespace nlohmann {

struct json {
  static json parse(const std::string&, std::nullptr_t, bool) { return {}; }
  bool contains(const char*) const { return false; }
};

}  // namespace nlohmann
