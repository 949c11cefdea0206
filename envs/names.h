// Lists of names in sentences. (fmt::join warns with g++ 12 and fmt 9 at -O3.)
#pragma once

#include <string>
#include <vector>

namespace starling::envs {

// "catch, dummy, minatar/breakout".
inline std::string Listed(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

}  // namespace starling::envs
