// Convolution of dense inputs on the CPU: the patches are laid out as a matrix for dense products,
// a few samples at a time so that they stay in cache; shapes in net/op_args.h.
#pragma once

#include "core/memory.h"
#include "net/op_args.h"

namespace starling::net::cpu {

class DenseConv {
 public:
  void Forward(const ConvForwardArgs<float>& args);
  void BackwardWeights(const ConvBackwardWeightsArgs<float>& args);
  void BackwardInput(const ConvBackwardInputArgs<float>& args);

 private:
  // Calls part(first, samples) for parts of the n samples whose patches fit in patches_.
  template <class Part>
  void ForEachPart(const ConvShape& shape, int n, Part part);

  Buffer<float> patches_;  // (samples, OH, OW, KH * KW * CIN)
};

}  // namespace starling::net::cpu
