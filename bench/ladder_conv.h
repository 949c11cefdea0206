// The kernels of a convolution over a sparse observation: 3 × 3 cells, stride 1, to 16 channels.
// Shapes in net/op_args.h. All arrays outlive the kernels.
#pragma once

#include <vector>

#include "bench/ladder.h"
#include "net/backend.h"

namespace starling::bench {

// They write y = relu(x * w + b).
std::vector<Kernel> ConvForwardKernels(net::ConvShape shape, int n, const float* x, const float* w,
                                       const float* b, float* y);

}  // namespace starling::bench
