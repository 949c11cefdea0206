// The report of a bench, as Markdown and as JSON.
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

// Returns the hardware, one table of all figures, and their details. `command` reproduces them.
std::string ToMarkdown(const std::vector<NamedResult>& results, const std::string& hardware,
                       const std::string& command);

// {"hardware", "command", "quick", "figures": {name: ...}}, one figure a line.
std::string ToJson(const std::vector<NamedResult>& results, const std::string& hardware,
                   const std::string& command, bool quick);

}  // namespace starling::bench
