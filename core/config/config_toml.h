// TOML: reading documents within limits, and the values of keys from and to TOML.
#pragma once

#include <toml++/toml.h>

#include <string>
#include <string_view>

#include "core/config/config_schema.h"

namespace starling {

// Limits of a document. The limit on points is necessary because toml++'s own limit on nesting
// ignores dotted keys: each part of a key is a level of the tree, and the recursive destructor of
// 100 KB of them overflows the stack. All points count, also those in numbers and comments.
inline constexpr std::size_t kMaxTomlBytes = 1 << 20;
inline constexpr std::size_t kMaxTomlPoints = 5000;

// Parses a document that a person may have written. `name` is the file's path for messages. Throws
// toml::parse_error, also for a document beyond the limits.
toml::table ParseToml(std::string_view text, std::string_view name = {});

// Returns `node` on one line, as a file or an override may contain it. Numbers have the fewest
// digits that read back to the same value.
std::string TomlText(const toml::node& node);

// Returns the type of `node` for messages: "a list".
std::string_view TomlTypeOf(const toml::node& node);

// Stores the value of `node` in the member of `key`. Returns a sentence if it is not allowed, else
// "".
std::string Assign(const ConfigKey& key, const toml::node& node, Config& config);

}  // namespace starling
