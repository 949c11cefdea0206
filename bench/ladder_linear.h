// The kernels of a fully connected layer whose input x (n, IN) is the output of a relu. Shapes in
// net/op_args.h; OUT is a multiple of 16. All arrays outlive the kernels.
#pragma once

#include <vector>

#include "bench/ladder.h"
#include "net/backend.h"

namespace starling::bench {

// They write y = relu(x . w + b).
std::vector<Kernel> LinearForwardKernels(net::LinearShape shape, int n, const float* x,
                                         const float* w, const float* b, float* y);

// They write dw, db and dx, the last with x as its mask.
std::vector<Kernel> LinearBackwardKernels(net::LinearShape shape, int n, const float* x,
                                          const float* w, const float* dy, float* dw, float* db,
                                          float* dx);

}  // namespace starling::bench
