// What core cannot check in a configuration: games, nets, sockets and places.
#pragma once

#include <vector>

#include "core/config/config.h"

namespace starling::fleet {

// A ConfigCheck (core/config/config.h).
std::vector<Contradiction> CheckConfig(const Config& config);

}  // namespace starling::fleet
