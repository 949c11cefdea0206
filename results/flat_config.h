// A configuration as its keys and their values in text, whatever version of Starling wrote it: to
// compare runs.
#pragma once

#include <map>
#include <string>

namespace starling::results {

// "staleness.bound" -> `4`, "staleness.on_exceed" -> `"wait"`: values as TOML.
using FlatConfig = std::map<std::string, std::string>;

// Throws std::runtime_error, with a sentence, if `toml` is no TOML. What is in no section is left out.
FlatConfig Flatten(const std::string& toml);

}  // namespace starling::results
