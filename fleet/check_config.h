// Checks of a configuration that core cannot make: games, nets, sockets and paths.
#pragma once

#include <cstdint>
#include <vector>

#include "core/config/config.h"

namespace starling::fleet {

// Returns how many actors a run can have where a process may open so many files: the learner needs
// the most, two connections for each actor.
std::uint64_t MaxActors(std::uint64_t open_files);

// A ConfigCheck (core/config/config.h): returns every mistake. Raises the limit on open files.
std::vector<Contradiction> CheckConfig(const Config& config);

// Throws UserError with the way to start it if a run of this configuration has no learner.
void CheckHasLearner(const Config& config);

}  // namespace starling::fleet
