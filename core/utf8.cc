#include "core/utf8.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace starling {
namespace {

// Returns the number of bytes of a character that begins with `first`, or 0 if none does.
std::size_t Length(unsigned char first) {
  if (first < 0x80) return 1;
  if (first < 0xC0) return 0;  // a continuation byte
  if (first < 0xE0) return 2;
  if (first < 0xF0) return 3;
  return first < 0xF8 ? 4 : 0;
}

// Returns the number of bytes of the character at the start of `bytes`, or 0 if there is none.
std::size_t CharacterAt(std::string_view bytes) {
  // The smallest code that needs so many bytes.
  constexpr std::array<std::uint32_t, 5> kMin = {0, 0, 0x80, 0x800, 0x10000};
  const auto first = static_cast<unsigned char>(bytes[0]);
  const std::size_t length = Length(first);
  if (length <= 1) return length;
  if (bytes.size() < length) return 0;
  std::uint32_t code = first & (0x7Fu >> length);
  for (const char c : bytes.substr(1, length - 1)) {
    if ((c & 0xC0) != 0x80) return 0;  // a continuation byte is expected
    code = code << 6 | (static_cast<unsigned char>(c) & 0x3F);
  }
  const bool surrogate = code >= 0xD800 && code < 0xE000;
  return code < kMin[length] || surrogate || code > 0x10FFFF ? 0 : length;
}

}  // namespace

bool IsUtf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = CharacterAt(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string ToUtf8(std::string_view text) {
  std::string valid;
  while (!text.empty()) {
    const std::size_t length = CharacterAt(text);
    valid += length == 0 ? "\xEF\xBF\xBD" : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return valid;
}

}  // namespace starling
