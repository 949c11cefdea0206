#pragma once

#include <cstddef>
#include <string>

namespace starling {

// How often `word` stands in `text`.
inline std::size_t CountIn(const std::string& text, const std::string& word) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; ++at) ++count;
  return count;
}

}  // namespace starling
