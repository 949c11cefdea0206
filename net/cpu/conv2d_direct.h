// Convolution on the CPU without a patch matrix: sums stay in vector registers while the loop
// streams over inputs and weights. For output channels in sixteens; shapes in net/backend.h.
#pragma once

#include "net/backend.h"

namespace starling::net::cpu {

// Return false and write nothing unless COUT is 16, 32 or a multiple of 64.
bool DirectConvForward(const ConvShape& shape, int n, const float* x, const float* w,
                       const float* b, Activation activation, float* y);
bool DirectConvBackwardWeights(const ConvShape& shape, int n, const float* x, const float* dy,
                               float* dw, float* db);

}  // namespace starling::net::cpu
