// Fully connected layer on the CPU for inputs that are mostly zero, as relu leaves them (in a trained
// net seven of eight): what a zero would add is not computed. Shapes in net/backend.h.
//
// Zeros are skipped, so a weight that is not finite shows only where an input is set.
#pragma once

#include <cstdint>
#include <vector>

#include "net/backend.h"
#include "net/cpu/nonzeros.h"

namespace starling::net::cpu {

// Each pass answers false, with nothing written, if too much of x is set, or if OUT is no multiple
// of 16: the dense way is faster then.
class SparseLinear {
 public:
  bool Forward(const LinearShape& shape, int n, const float* x, const float* w, const float* b,
               Activation activation, float* y);
  bool Backward(const LinearShape& shape, int n, const float* x, const float* w, const float* dy,
                float* dw, float* db, float* dx);

 private:
  static constexpr int kBlock = 64;  // samples at a time

  void FindColumns(int in, int first, int samples);
  void BackwardBlock(const LinearShape& shape, const float* x, const float* w, const float* dy,
                     bool replace, float* dw, float* dx) const;

  SparseRows set_;
  std::vector<std::uint64_t> columns_;  // (IN): a bit for each sample of a block
};

}  // namespace starling::net::cpu
