// `starling envs`: the table of the bundled environments, and how to name others.
#pragma once

#include <string>

namespace starling::play {

// Lines of at most 100 columns.
std::string EnvTable();

}  // namespace starling::play
