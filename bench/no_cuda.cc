// The parts of the bench that need CUDA, in a build without it: no GPU is found, so nothing calls
// them.
#include "bench/gpu_limits.h"
#include "core/check.h"

namespace starling::bench {

Probe CudaProbe() { CHECK(false, "there is no GPU"); }

}  // namespace starling::bench
