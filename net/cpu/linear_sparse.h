// Fully connected layer on the CPU for the sparse outputs of a relu (in a trained net seven of
// eight are zero): products with zeros are skipped. Shapes in net/backend.h.
//
// So a weight that is not finite has an effect only where an input is nonzero.
#pragma once

#include <cstdint>
#include <vector>

#include "net/backend.h"
#include "net/cpu/nonzeros.h"

namespace starling::net::cpu {

// Each pass returns false and writes nothing if too much of x is nonzero, or if OUT is no multiple
// of 16: a dense product is faster then.
class SparseLinear {
 public:
  bool Forward(const LinearShape& shape, int n, const float* x, const float* w, const float* b,
               Activation activation, float* y);
  bool Backward(const LinearShape& shape, int n, const float* x, const float* w, const float* dy,
                float* dw, float* db, float* dx);

 private:
  static constexpr int kBlock = 64;  // samples per block

  void FindColumns(int in, int first, int samples);
  void BackwardBlock(const LinearShape& shape, const float* x, const float* w, const float* dy,
                     bool replace, float* dw, float* dx) const;

  SparseRows set_;
  std::vector<std::uint64_t> columns_;  // (IN): one bit for each sample of a block
};

}  // namespace starling::net::cpu
