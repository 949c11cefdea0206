// Convolution on the CPU without a patch matrix: sums stay in vector registers while the loop
// streams over inputs and weights. For output channels in sixteens; shapes in net/op_args.h.
#pragma once

#include "net/op_args.h"

namespace starling::net::cpu {

// Return false and write nothing unless COUT is 16, 32 or a multiple of 64.
bool DirectConvForward(const ConvForwardArgs<float>& args);
bool DirectConvBackwardWeights(const ConvBackwardWeightsArgs<float>& args);

}  // namespace starling::net::cpu
