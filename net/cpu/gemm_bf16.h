// Dense products of bf16 matrices, summed in f32, through oneDNN.
#pragma once

#include <dnnl.hpp>
#include <unordered_map>
#include <vector>

#include "net/cpu/bfloat16.h"
#include "net/cpu/gemm.h"

namespace starling::net::cpu {

// oneDNN makes code for each shape; a net has a handful, whose code is kept.
class Bf16Gemm {
 public:
  // C (m, n) = op(A) (m, k) . op(B) (k, n), all dense, row-major: A is stored (m, k), or (k, m) if
  // transposed; B likewise. Runs in the calling thread alone.
  void operator()(Order a_order, Order b_order, int m, int n, int k, const Bfloat16* a,
                  const Bfloat16* b, float* c);

 private:
  struct Product {
    Order a_order, b_order;
    int m, n, k;
    dnnl::matmul primitive;
    std::unordered_map<int, dnnl::memory> arguments;
  };
  Product Make(Order a_order, Order b_order, int m, int n, int k) const;
  Product& Find(Order a_order, Order b_order, int m, int n, int k);

  dnnl::engine engine_{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream_{engine_};
  std::vector<Product> products_;
};

}  // namespace starling::net::cpu
