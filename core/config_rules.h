// What holds between keys: the values behind "auto", and the pairs that contradict each other.
#pragma once

#include <string>
#include <vector>

#include "core/config.h"

namespace starling {

// The processors this process may run on (its affinity mask), at least 1.
std::int64_t UsableCores();

// Replaces what is "auto" or left empty: run.name (the stem of `file`), run.dir, actors.count (at
// most what the schema allows of `cores`), updates.start_with, updates.gradients = ceil(N / (bound
// + 1)).
void ResolveAuto(Config& config, const std::string& file, std::int64_t cores);

std::vector<Contradiction> FindContradictions(const Config& resolved);

}  // namespace starling
