// Built without CUDA: nothing is played on a GPU.
#include "core/error.h"
#include "envs/registry.h"

namespace starling::envs {

std::unique_ptr<VecEnv> MakeGpuEnv(const EnvConfig&, int, const EnvSeed&, int, Gpu&) {
  throw UserError(FindGpus().why_none);
}

}  // namespace starling::envs
