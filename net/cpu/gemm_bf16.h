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

  // C (m, n) = op(A) (m, k) . op(B) (k, n), all dense and row-major. A is stored as (m, k), or as
  // (k, m) if transposed; B likewise. Runs on the calling thread alone.
  void Multiply(Order a_order, Order b_order, int m, int n, int k, const Bfloat16* a,
                const Bfloat16* b, float* c);

 private:
  class Products;
  const std::unique_ptr<Products> products_;
};

}  // namespace starling::net::cpu
