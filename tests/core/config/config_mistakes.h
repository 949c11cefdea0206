// The mistakes that a configuration is refused with.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "core/config/config.h"
#include "core/error.h"

namespace starling {

using Overrides = std::vector<std::string>;

// The mistakes in `text`, line by line; empty if there are none.
inline std::vector<std::string> Mistakes(const std::string& text, const Overrides& overrides = {}) {
  std::vector<std::string> lines;
  try {
    ParseConfig(text, "x.toml", overrides);
  } catch (const UserError& error) {
    std::string line;
    std::istringstream stream(error.what());
    while (std::getline(stream, line)) lines.push_back(line);
  }
  return lines;
}

}  // namespace starling
