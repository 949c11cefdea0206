// Which configurations can be simulated.
#pragma once

#include <vector>

#include "core/config/config.h"

namespace starling::simulate {

// CheckConfig (fleet/check_config.h), and what cannot be simulated.
std::vector<Contradiction> CheckSimulation(const Config& config);

// Where everything of a simulation is: on the processor, in one process; there is no network.
void SettleSimulation(Config& config);

}  // namespace starling::simulate
