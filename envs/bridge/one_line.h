// Text of a plug-in, a worker or Python, made fit for a sentence.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace starling::envs {

// `text` on one line, cut after `limit` bytes with "...".
inline std::string OneLine(std::string_view text, std::size_t limit) {
  std::string line(text.substr(0, limit));
  std::ranges::replace_if(
      line, [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  if (text.size() > limit) line += "...";
  return line;
}

}  // namespace starling::envs
