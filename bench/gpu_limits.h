// What a GPU does at best: the ceilings of all other figures.
#pragma once

#include <functional>

#include "core/gpu.h"

namespace starling::bench {

// What needs CUDA itself; a test has others.
struct Probe {
  std::function<void(Gpu&)> queue_nothing;  // a kernel that does nothing
  std::function<void(Gpu&)> spin;           // waits for the queued work without giving up the core
};
Probe CudaProbe();

struct Limits {
  double copy_gb_s = 0;                 // read and written, within its memory
  double up_us = 0, down_us = 0;        // 0.5 MB from pinned memory and back, waited for
  double node_us = 0;                   // of an empty kernel among 1,000 of a graph
  double blocking_us = 0, spin_us = 0;  // an empty kernel, and the wait for it
};
// Medians of `seconds` each. Uses the ids 0 and 1 of `gpu`.
Limits MeasureLimits(Gpu& gpu, const Probe& probe, double seconds);

}  // namespace starling::bench
