// What core cannot check in a configuration: games, nets, sockets and places.
#pragma once

#include "core/config.h"

namespace starling::fleet {

// Throws UserError, with the place where the key was set.
void CheckConfig(const Config& config, const ConfigSource& source);

}  // namespace starling::fleet
