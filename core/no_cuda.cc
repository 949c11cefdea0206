// core/gpu.h in a build without CUDA: there are no GPUs.
#include "core/error.h"
#include "core/gpu.h"

namespace starling {

bool BuiltWithCuda() { return false; }

GpuSearch FindGpus() {
  return {.gpus = {},
          .why_none =
              "this program was built without CUDA: install the CUDA Toolkit (12 or newer), "
              "configure again and build",
          .driver = ""};
}

std::unique_ptr<Gpu> OpenGpu(int) { throw UserError(FindGpus().why_none); }

}  // namespace starling
