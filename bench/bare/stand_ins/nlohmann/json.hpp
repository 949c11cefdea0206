// Found instead of nlohmann/json by the build without libraries (cmake/bare.cmake). Only the
// options of Gymnasium's envs are JSON (envs/sticky.cc), and that build has no such envs.
#pragma once

#include <string>

namespace nlohmann {

struct json {
  static json parse(const std::string&, std::nullptr_t, bool) { return {}; }
  bool contains(const char*) const { return false; }
};

}  // namespace nlohmann
