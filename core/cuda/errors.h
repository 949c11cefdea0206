// Errors of the CUDA runtime as sentences for the operator.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

namespace starling::cuda {

// Returns the cause and the remedy, one sentence.
std::string Advice(cudaError_t status);

// Throws if `status` is not success: UserError if the GPU's memory is full or the GPU is not
// available, else std::runtime_error (the GPU was lost, or our bug). `action` names the failed
// action: "allocating 3.2 GiB".
void Check(cudaError_t status, const std::string& action);

// Whether STARLING_CUDA_SYNC=1: all work is waited for when it is queued, and nothing is recorded,
// so that work that fails is named. Slow.
bool InSteps();

}  // namespace starling::cuda
