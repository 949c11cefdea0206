// Checks of a configuration that core cannot make: games, nets, sockets and paths.
#pragma once

#include <vector>

#include "core/config/config.h"

namespace starling::fleet {

// A ConfigCheck (core/config/config.h): returns every mistake.
std::vector<Contradiction> CheckConfig(const Config& config);

}  // namespace starling::fleet
