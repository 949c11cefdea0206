// Large fully connected layers on the CPU with factors in bf16, by AMX; shapes in net/op_args.h.
#pragma once

#include "core/memory.h"
#include "net/cpu/amx.h"
#include "net/cpu/held_copies.h"
#include "net/op_args.h"

namespace starling::net::cpu {

class AmxLinear {
 public:
  static bool Suits(const LinearShape& shape) {
    return shape.in % 32 == 0 && shape.out % 32 == 0 && amx::Available();
  }

  // As in Backend.
  void HoldWeights(bool held) { weights_.Hold(held); }
  void Forward(const LinearForwardArgs<float>& args);
  void Backward(const LinearBackwardArgs<float>& args);

 private:
  HeldCopies weights_;  // right tiles (OUT / 16, IN / 32)
  Buffer<Bfloat16> left_, right_, x_, w_;
};

}  // namespace starling::net::cpu
