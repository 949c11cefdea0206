// The backend of a GPU.
#pragma once

#include <memory>

#include "core/gpu.h"
#include "net/backend.h"

namespace starling::net {

// cuBLAS for products, own kernels for the rest, all in gpu's stream; `gpu` must outlive it. f32 gives
// equal bits for equal inputs of equal shapes on one kind of GPU; kTf32 and kBf16 round the factors of
// products. Throws UserError if cuBLAS is not found, or without CUDA.
std::unique_ptr<Backend<float>> MakeCudaBackend(Gpu& gpu, Precision precision = Precision::kF32);

}  // namespace starling::net
