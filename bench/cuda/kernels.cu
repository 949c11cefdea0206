// The kernels of bench/cuda/nothing.h.
#include "bench/cuda/nothing.h"
#include "core/cuda/each.cuh"

namespace starling::cuda {

template void ForEach<bench::Nothing>(void*, long long, const bench::Nothing& body);

}  // namespace starling::cuda
