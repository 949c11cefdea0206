// Names of the directories of a sweep: short, readable, and free of characters special to a shell.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace starling::sweep {

// Returns the last part of each key, or the whole key if two keys share the last part: "bound",
// "net.kind".
std::vector<std::string> ShortKeys(const std::vector<std::string>& keys);

// Returns a value in letters, digits and ". _ + -"; every run of other characters becomes one "-":
// [64, 64] is "64-64", "minatar/breakout" is "minatar-breakout". A name of more than 40 characters
// is cut and ends in a hash of the whole value.
std::string ValueName(std::string_view toml);

// Returns "bound=4,lr=0.001" for keys and values in TOML, or "base" if there are none. The name
// does not depend on the other values in the grid, so a sweep can grow. A name of more than 160
// characters is cut and ends in a hash.
std::string PointName(const std::vector<std::pair<std::string, std::string>>& settings);

}  // namespace starling::sweep
