// What an answer of the CUDA runtime that is not success means to whoever runs the program.
#pragma once

#include <cuda_runtime_api.h>

namespace starling::cuda {

// Throws if `status` is no success: UserError if its memory is full or the GPU cannot be had at all,
// else std::runtime_error: the GPU was lost, or did something that only a bug of ours explains.
// `what`: what was tried, "allocating 3.2 GiB".
void Check(cudaError_t status, const char* what);

// In one sentence: what it is and what to do.
const char* Advice(cudaError_t status);

}  // namespace starling::cuda
