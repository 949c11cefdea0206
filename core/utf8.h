// Validation and repair of UTF-8 text.
#pragma once

#include <string>
#include <string_view>

namespace starling {

// Returns whether `text` is UTF-8 as TOML and JSON accept it: no overlong encodings, no surrogates,
// nothing above U+10FFFF.
bool IsUtf8(std::string_view text);

// Returns `text` with U+FFFD in place of each byte that belongs to no character.
std::string ToUtf8(std::string_view text);

}  // namespace starling
