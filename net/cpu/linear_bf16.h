// Large fully connected layers on the CPU with factors in bf16; shapes in net/backend.h. Biases,
// sums and outputs are f32.
#pragma once

#include "core/buffer.h"
#include "net/backend.h"
#include "net/cpu/bfloat16.h"
#include "net/cpu/gemm_bf16.h"
#include "net/cpu/held_copies.h"
#include "net/cpu/linear_amx.h"

namespace starling::net::cpu {

class Bf16Linear {
 public:
  // Whether the layer is so large that faster products outweigh the conversions. The ops below
  // require it.
  static bool Suits(const LinearShape& shape) { return shape.in * shape.out >= 128 * 128; }

  // As in Backend.
  void HoldWeights(bool held);
  void Forward(const LinearShape& shape, int n, const float* x, const float* w, const float* b,
               Activation activation, float* y);
  void BackwardWeights(const LinearShape& shape, int n, const float* x, const float* dy, float* dw,
                       float* db);
  void BackwardInput(const LinearShape& shape, int n, const float* w, const float* dy,
                     const float* relu_output, float* dx);
  void Backward(const LinearShape& shape, int n, const float* x, const float* w, const float* dy,
                float* dw, float* db, float* dx);

 private:
  const Bfloat16* Weights(const LinearShape& shape, const float* w);

  AmxLinear amx_;       // for shapes that suit it
  Bf16Gemm gemm_;       // for all others
  HeldCopies weights_;  // (IN, OUT), for gemm_
  Buffer<Bfloat16> x_, dy_;
};

}  // namespace starling::net::cpu
