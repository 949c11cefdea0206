// What holds between keys: the values behind "auto", and the pairs that contradict each other.
#pragma once

#include <string>
#include <vector>

#include "core/config/config.h"

namespace starling {

// The processors this process may run on (its affinity mask), at least 1.
std::int64_t UsableCores();

// What actors.count says; if that is "auto", one for each GPU if that is what they compute on, else one for
// each core.
std::int64_t ActorsThatFit(const ActorsConfig& actors);

// Replaces what is "auto" or left empty: run.name (the stem of `file`), run.dir, actors.count (at
// most what the schema allows of `actors_that_fit`), updates.start_with, updates.gradients = ceil(N / (bound
// + 1)).
void ResolveAuto(Config& config, const std::string& file, std::int64_t actors_that_fit);

std::vector<Contradiction> FindContradictions(const Config& resolved);

}  // namespace starling
