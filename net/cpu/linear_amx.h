// Large fully connected layers on the CPU with factors in bf16, by AMX; shapes in net/backend.h.
#pragma once

#include "core/buffer.h"
#include "net/backend.h"
#include "net/cpu/amx.h"
#include "net/cpu/held_copies.h"

namespace starling::net::cpu {

class AmxLinear {
 public:
  static bool Suits(const LinearShape& shape) {
    return shape.in % 32 == 0 && shape.out % 32 == 0 && amx::Available();
  }

  // As in Backend.
  void HoldWeights(bool held) { weights_.Hold(held); }
  void Forward(const LinearShape& shape, int n, const float* x, const float* w, const float* b,
               Activation activation, float* y);
  void Backward(const LinearShape& shape, int n, const float* x, const float* w, const float* dy,
                float* dw, float* db, float* dx);

 private:
  HeldCopies weights_;  // right tiles (OUT / 16, IN / 32)
  Buffer<Bfloat16> left_, right_, x_, w_;
};

}  // namespace starling::net::cpu
