// What the directories of a sweep are called: short, readable, and nothing that a shell minds.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace starling::sweep {

// The last part of each key, or all of it where two keys share that: "bound", "net.kind".
std::vector<std::string> ShortKeys(const std::vector<std::string>& keys);

// A value in letters, digits and ". _ + -", each run of others being one "-": [64, 64] is "64-64",
// "minatar/breakout" is "minatar-breakout". What is longer than 40 ends in a hash of all of it.
std::string ValueName(std::string_view toml);

// "bound=4,lr=0.001" of keys and values as TOML; "base" without any. The same whatever other values
// the grid has, so that a sweep can grow. At most 160 characters, as above.
std::string PointName(const std::vector<std::pair<std::string, std::string>>& settings);

}  // namespace starling::sweep
