// Fully connected layer on the CPU for the sparse outputs of a relu (in a trained net seven of
// eight are zero): products with zeros are skipped. Shapes in net/op_args.h.
//
// So a weight that is not finite has an effect only where an input is nonzero.
#pragma once

#include <cstdint>
#include <vector>

#include "net/cpu/nonzeros.h"
#include "net/op_args.h"

namespace starling::net::cpu {

// Each pass returns false and writes nothing if too much of x is nonzero, or if OUT is no multiple
// of 16: a dense product is faster then.
class SparseLinear {
 public:
  bool Forward(const LinearForwardArgs<float>& args);
  bool Backward(const LinearBackwardArgs<float>& args);

 private:
  static constexpr int kBlock = 64;  // samples per block

  void FindColumns(int in, int first, int samples);
  void BackwardBlock(const LinearBackwardArgs<float>& block, bool replace) const;

  SparseRows set_;
  std::vector<std::uint64_t> columns_;  // (IN): one bit for each sample of a block
};

}  // namespace starling::net::cpu
