// The net that a configuration describes for an environment.
#pragma once

#include "core/config/config.h"
#include "envs/env.h"
#include "net/stack.h"

namespace starling::actors {

// For actors, players and the initial weights.
net::ModelSpec ModelSpecOf(const Config& config, const envs::EnvSpec& env);

}  // namespace starling::actors
