// Replaces cuda/backend.cc in a build without CUDA.
#include "core/error.h"
#include "net/backend.h"

namespace starling::net {

std::unique_ptr<Backend<float>> MakeCudaBackend(Gpu&, Precision) {
  throw UserError(FindGpus().why_none);
}

}  // namespace starling::net
