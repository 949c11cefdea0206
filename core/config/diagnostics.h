// The mistakes in a file that an operator wrote, collected so that all of them are reported at
// once.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/text.h"

namespace starling {

// A position: a line and column of a file, or a location outside of it (line 0).
struct SourceLocation {
  std::string text;  // "file:line:column" or "--set section.key=value"
  std::uint32_t line = 0, column = 0;
};

class Diagnostics {
 public:
  static constexpr std::size_t kMax = 100;  // more are of no use to a reader

  // Ignores a sentence that this location has already, and any sentence once it is full. Both are
  // shown on one line each, also if they quote control characters.
  void Add(const SourceLocation& location, const std::string& sentence) {
    if (full()) return;
    std::string line = Escaped(location.text + ": " + sentence);
    if (lines_.insert(line).second) found_.emplace_back(location, std::move(line));
  }
  bool full() const { return found_.size() >= kMax; }
  // Returns one line for each, in the order of the file, places outside of it last; "" if none.
  std::string Text() const {
    auto sorted = found_;
    std::ranges::stable_sort(sorted, {}, [](const auto& mistake) {
      const SourceLocation& location = mistake.first;
      return std::tuple(location.line == 0, location.line, location.column);
    });
    std::string text;
    for (const auto& [location, line] : sorted) text += (text.empty() ? "" : "\n") + line;
    if (full()) {
      text += fmt::format("\nand perhaps more: these are the first {} that were found", kMax);
    }
    return text;
  }

 private:
  std::vector<std::pair<SourceLocation, std::string>> found_;  // with their lines
  std::set<std::string> lines_;
};

}  // namespace starling
