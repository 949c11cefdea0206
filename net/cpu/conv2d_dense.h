// Convolution of dense inputs on the CPU: the patches are laid out as a matrix for dense products,
// a few samples at a time so that they stay in cache; shapes in net/backend.h.
#pragma once

#include "core/buffer.h"
#include "net/backend.h"

namespace starling::net::cpu {

class DenseConv {
 public:
  void Forward(const ConvShape& shape, int n, const float* x, const float* w, const float* b,
               Activation activation, float* y);
  void BackwardWeights(const ConvShape& shape, int n, const float* x, const float* dy, float* dw,
                       float* db);
  void BackwardInput(const ConvShape& shape, int n, const float* w, const float* dy,
                     const float* relu_output, float* dx);

 private:
  Buffer<float> patches_;  // (samples, OH, OW, KH * KW * CIN)
};

}  // namespace starling::net::cpu
