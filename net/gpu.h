// The backend of a GPU.
#pragma once

#include <memory>

#include "core/gpu.h"
#include "net/backend.h"

namespace starling::net {

// Products by cuBLAS, all other ops by own kernels, queued on the stream of `gpu`, which must
// outlive the backend. With kF32, equal inputs of equal shapes give equal bits on one model of GPU.
// kTf32 and kBf16 round the factors of products. Throws UserError if cuBLAS is not found or the
// build has no CUDA.
std::unique_ptr<Backend<float>> MakeCudaBackend(Gpu& gpu, Precision precision = Precision::kF32);

}  // namespace starling::net
