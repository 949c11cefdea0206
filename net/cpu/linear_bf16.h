// Large fully connected layers on the CPU with factors in bf16; shapes in net/op_args.h. Biases,
// sums and outputs are f32.
#pragma once

#include "core/memory.h"
#include "net/cpu/bfloat16.h"
#include "net/cpu/gemm_bf16.h"
#include "net/cpu/held_copies.h"
#include "net/cpu/linear_amx.h"
#include "net/op_args.h"

namespace starling::net::cpu {

class Bf16Linear {
 public:
  // Whether the layer is so large that faster products outweigh the conversions. The ops below
  // require it.
  static bool Suits(const LinearShape& shape) { return shape.in * shape.out >= 128 * 128; }

  // As in Backend.
  void HoldWeights(bool held);
  void Forward(const LinearForwardArgs<float>& args);
  void BackwardWeights(const LinearBackwardWeightsArgs<float>& args);
  void BackwardInput(const LinearBackwardInputArgs<float>& args);  // REQUIRES: it replaces dx
  void Backward(const LinearBackwardArgs<float>& args);

 private:
  const Bfloat16* Weights(const LinearShape& shape, const float* w);

  AmxLinear amx_;       // for shapes that suit it
  Bf16Gemm gemm_;       // for all others
  HeldCopies weights_;  // (IN, OUT), for gemm_
  Buffer<Bfloat16> x_, dy_;
};

}  // namespace starling::net::cpu
