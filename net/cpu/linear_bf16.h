// Large fully connected layers on the CPU with factors in bf16; shapes in net/backend.h. Biases, sums
// and all that is written are f32.
#pragma once

#include <cstdint>
#include <vector>

#include "net/backend.h"
#include "net/buffer.h"
#include "net/cpu/bfloat16.h"
#include "net/cpu/gemm_bf16.h"

namespace starling::net::cpu {

class Bf16Linear {
 public:
  // Whether the layer is large enough for products to outweigh conversions. No other shapes below.
  static bool Suits(const LinearShape& shape) { return shape.in * shape.out >= 128 * 128; }

  // As Backend's.
  void HoldWeights(bool held);
  void Forward(const LinearShape& shape, int n, const float* x, const float* w, const float* b,
               Activation activation, float* y);
  void BackwardWeights(const LinearShape& shape, int n, const float* x, const float* dy, float* dw,
                       float* db);
  void BackwardInput(const LinearShape& shape, int n, const float* w, const float* dy,
                     const float* relu_output, float* dx);

 private:
  // What became of some weights.
  struct Copy {
    const float* of = nullptr;
    Buffer<Bfloat16> values{};
    bool fresh = false;  // made since the weights are held
    int checked = 0;     // the row that was last compared
  };
  const Bfloat16* Weights(const LinearShape& shape, const float* w);

  Bf16Gemm gemm_;
  bool held_ = false;
  std::vector<Copy> copies_;
  Buffer<Bfloat16> x_, dy_;
};

}  // namespace starling::net::cpu
