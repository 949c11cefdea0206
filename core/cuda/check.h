// Errors of the CUDA runtime as sentences for the operator.
#pragma once

#include <cuda_runtime_api.h>

namespace starling::cuda {

// Throws if `status` is not success: UserError if the GPU's memory is full or the GPU is not
// available, else std::runtime_error (the GPU was lost, or our bug). `action` names the failed
// action: "allocating 3.2 GiB".
void Check(cudaError_t status, const char* action);

// One sentence: the cause and the remedy.
const char* Advice(cudaError_t status);

}  // namespace starling::cuda
