#include "core/config/mistakes.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace starling {

void Mistakes::Add(const Place& place, const std::string& sentence) {
  if (full()) return;
  if (lines_.insert(place.text + ": " + sentence).second) found_.emplace_back(place, sentence);
}

std::string Mistakes::Text() const {
  auto sorted = found_;
  std::ranges::stable_sort(sorted, {}, [](const auto& mistake) {
    const Place& place = mistake.first;
    return std::tuple(place.line == 0, place.line, place.column);
  });
  std::string text;
  for (const auto& [place, sentence] : sorted) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : "\n", place.text, sentence);
  }
  if (full()) {
    text += fmt::format("\nand perhaps more: these are the first {} that were found", kMax);
  }
  return text;
}

}  // namespace starling
