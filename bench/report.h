// What the bench says in the end.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "bench/figure.h"

namespace starling::bench {

struct NamedResult {
  std::string name;
  Result result;
};

// Markdown: the hardware, one table over all figures, and their details. `command` is what measured
// them.
std::string ToMarkdown(const std::vector<NamedResult>& results, const std::string& hardware,
                       const std::string& command);

// {"hardware", "command", "quick", "figures": {name: ...}}, one figure a line.
std::string ToJson(const std::vector<NamedResult>& results, const std::string& hardware,
                   const std::string& command, bool quick);

}  // namespace starling::bench
