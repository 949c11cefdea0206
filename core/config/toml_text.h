// TOML read within limits, and its values written out again.
#pragma once

#include <toml++/toml.h>

#include <string>
#include <string_view>

namespace starling {

// toml::parse of a document that a person may have written. Its own limit on nesting knows nothing of dotted keys,
// each part of which takes some of the stack when the document goes: 100 KB of them end the process.
inline constexpr std::size_t kMostTomlBytes = 1 << 20;
inline constexpr std::size_t kMostTomlPoints =
    5000;  // wherever they stand: in keys, numbers and comments

// Throws toml::parse_error, also for what exceeds the limits. `name` stands where a file's path would.
toml::table ParseToml(std::string_view text, std::string_view name = {});

// `node` on one line, as a file or an override may hold it; numbers with the fewest digits that read
// back to the same.
std::string TomlText(const toml::node& node);

}  // namespace starling
