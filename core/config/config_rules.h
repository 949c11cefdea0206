// Rules between keys: the values behind "auto" (config_auto.cc), and keys that contradict each
// other (config_rules.cc).
#pragma once

#include <string>
#include <vector>

#include "core/config/config.h"
#include "core/gpu.h"

namespace starling {

inline bool OverTcp(const WireConfig& wire) { return wire.endpoint.starts_with("tcp://"); }

// The processors this process may run on (its affinity mask), at least 1.
std::int64_t UsableCores();

// Returns wire.io_threads, or for "auto" 1, and with keys half of the usable cores, at most 4.
std::int64_t IoThreads(const WireConfig& wire);

// The device of an actor's net.
struct BackendChoice {
  bool gpu = false;
  std::string why;      // of "auto": a sentence for the log
  bool wished = false;  // of "auto": actors.env_device or net.precision ask for a GPU
};
// "auto" is a GPU if `found` has one, and if the environments that are played at once fill it or
// actors.env_device or net.precision ask for it; "cuda" is a GPU if there is one.
BackendChoice ChooseBackend(const Config& config, const GpuSearch& found);

// Returns actors.count, or for "auto" one actor for each net.stages GPUs if actors compute on GPUs,
// else for so many cores; at least 1.
std::int64_t ActorsThatFit(const Config& config);

// Replaces values that are "auto" or empty: run.name (the stem of `file`), run.dir, actors.count
// (`actors_that_fit`, clamped to the range of the schema), net.kind, updates.start_with,
// updates.gradients = ceil(N / (bound + 1)), updates.in_flight.
void ResolveAuto(Config& config, const std::string& file, std::int64_t actors_that_fit);

std::vector<Contradiction> FindContradictions(const Config& resolved);

}  // namespace starling
