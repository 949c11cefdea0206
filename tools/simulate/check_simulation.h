// Checks whether a configuration can be simulated.
#pragma once

#include <vector>

#include "core/config/config.h"

namespace starling::simulate {

// The contradictions of CheckConfig (fleet/check_config.h), and those with a simulation.
std::vector<Contradiction> CheckSimulation(const Config& config);

// Sets the keys that a simulation fixes: it computes on the CPU, in one process, without a network.
void SettleSimulation(Config& config);

}  // namespace starling::simulate
