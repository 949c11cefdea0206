// Numbers in file names and metadata.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace starling {

// The whole of `text` as a number in `base`, digits only; nothing if it is anything else or too
// large.
inline std::optional<std::uint64_t> ParseNumber(std::string_view text, int base = 10) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace starling
