// Text that others have to read.
#pragma once

#include <string_view>

namespace starling {

// Whether `text` is UTF-8 as TOML and JSON take it: no character in more bytes than it needs, no halves of pairs
// (surrogates), nothing above U+10FFFF.
bool IsUtf8(std::string_view text);

}  // namespace starling
