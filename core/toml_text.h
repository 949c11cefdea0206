// Values of TOML written out again.
#pragma once

#include <toml++/toml.h>

#include <string>

namespace starling {

// `node` on one line, as a file or an override may hold it; numbers with the fewest digits that read
// back to the same.
std::string TomlText(const toml::node& node);

}  // namespace starling
