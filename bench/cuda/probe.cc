#include <cuda_runtime_api.h>

#include "bench/cuda/nothing.h"
#include "bench/gpu_limits.h"
#include "core/cuda/errors.h"

namespace starling::bench {
using cuda::Check;

Probe CudaProbe() {
  return {.queue_nothing = [](Gpu& gpu) { cuda::ForEach(gpu.stream(), 1, Nothing()); },
          .spin =
              [](Gpu& gpu) {
                cudaError_t status = cudaErrorNotReady;
                while (status == cudaErrorNotReady) {
                  status = cudaStreamQuery(static_cast<cudaStream_t>(gpu.stream()));
                }
                cudaGetLastError();  // "not ready" is no error for the next wait
                Check(status, "computing");
              }};
}

}  // namespace starling::bench
