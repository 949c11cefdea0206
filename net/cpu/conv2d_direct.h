// Convolution on the CPU straight from the observation, without laying patches out as a matrix: sums
// stay in registers while the inputs and weights that belong to them pass. For output channels in
// sixteens; shapes in net/backend.h.
#pragma once

#include "net/backend.h"

namespace starling::net::cpu {

// Each answers false, with nothing written, unless COUT is 16, 32 or a multiple of 64.
bool DirectConvForward(const ConvShape& shape, int n, const float* x, const float* w,
                       const float* b, Activation activation, float* y);
bool DirectConvBackwardWeights(const ConvShape& shape, int n, const float* x, const float* dy,
                               float* dw, float* db);

}  // namespace starling::net::cpu
