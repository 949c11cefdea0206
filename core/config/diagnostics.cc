#include "core/config/diagnostics.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace starling {

void Diagnostics::Add(const SourceLocation& location, const std::string& sentence) {
  if (full()) return;
  if (lines_.insert(location.text + ": " + sentence).second)
    found_.emplace_back(location, sentence);
}

std::string Diagnostics::Text() const {
  auto sorted = found_;
  std::ranges::stable_sort(sorted, {}, [](const auto& mistake) {
    const SourceLocation& location = mistake.first;
    return std::tuple(location.line == 0, location.line, location.column);
  });
  std::string text;
  for (const auto& [location, sentence] : sorted) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : "\n", location.text, sentence);
  }
  if (full()) {
    text += fmt::format("\nand perhaps more: these are the first {} that were found", kMax);
  }
  return text;
}

}  // namespace starling
