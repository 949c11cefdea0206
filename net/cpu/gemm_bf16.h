// Dense products of bf16 matrices, summed in f32, through oneDNN.
#pragma once

#include <memory>

#include "net/cpu/bfloat16.h"
#include "net/cpu/gemm.h"

namespace starling::net::cpu {

// oneDNN generates code for each shape. It is kept: a net has only a few shapes.
class Bf16Gemm {
 public:
  Bf16Gemm();
  ~Bf16Gemm();

  // REQUIRES: product.put is kReplace. Runs on the calling thread alone.
  void Multiply(const Product<Bfloat16>& product);

 private:
  class Kernels;
  const std::unique_ptr<Kernels> kernels_;
};

}  // namespace starling::net::cpu
