// An environment as the command line describes it: its name and some of its keys.
#pragma once

#include <string>
#include <vector>

#include "core/config/config.h"

namespace starling::play {

// `overrides` are "env.key=value". Throws UserError if one of them is of another section, or as
// ParseConfig. Whether there is such an env is found out when it is made.
EnvConfig EnvOptions(const std::string& name, const std::vector<std::string>& overrides);

}  // namespace starling::play
