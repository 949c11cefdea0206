// Ladders: several versions of an op of the nets, numbered in the order of their discovery. The
// nets use the last; the others stay here as explained examples (ladder_kernels.cc).
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "bench/figure.h"
#include "net/backend.h"

namespace starling::bench {

// One version of an op, bound to its data. It writes all outputs, or returns false with nothing
// written if it is not for such data.
struct Kernel {
  const char* name;
  std::function<bool()> run;
};

// The kernels of a fully connected layer whose input x (n, IN) is the output of a relu; OUT is a
// multiple of 16. Shapes in net/op_args.h. All arrays outlive the kernels.
// They write y = relu(x . w + b).
std::vector<Kernel> LinearForwardKernels(net::LinearShape shape, int n, const float* x,
                                         const float* w, const float* b, float* y);
// They write dw, db and dx, the last with x as its mask.
std::vector<Kernel> LinearBackwardKernels(net::LinearShape shape, int n, const float* x,
                                          const float* w, const float* dy, float* dw, float* db,
                                          float* dx);

// The kernels of a convolution over a sparse observation: 3 × 3 cells, stride 1, to 16 channels.
// They write y = relu(x * w + b). Shapes and arrays as above.
std::vector<Kernel> ConvForwardKernels(net::ConvShape shape, int n, const float* x, const float* w,
                                       const float* b, float* y);

struct Ladder {
  std::string op;                         // with its data
  std::vector<Kernel> kernels;            // number 1 first, which accepts all data
  std::vector<std::span<float>> outputs;  // of each kernel
};

struct Rung {
  const char* name;
  bool ran = false;  // false: the kernel refused the data, us and error are unknown
  double us = 0;     // median
  double error = 0;  // largest difference from kernel 1, relative to an output's largest value
};

inline constexpr double kMaxError = 1e-5;

// Compares the kernels, then times them for `seconds`.
std::vector<Rung> Climb(const Ladder& ladder, double seconds);

// Adds a row; the result is broken if kernels disagree.
void AddRow(const std::string& op, const std::vector<Rung>& rungs, Result& result);

}  // namespace starling::bench
