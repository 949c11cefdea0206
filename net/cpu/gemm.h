// Dense products of row-major matrices, through oneDNN.
#pragma once

namespace starling::net::cpu {

enum class Order { kPlain, kTransposed };

// C (m, n) = beta C + op(A) (m, k) . op(B) (k, n). A is stored as (m, k), or as (k, m) if
// transposed, with rows `lda` floats apart; B and C likewise. Runs on the calling thread alone.
void Gemm(Order a_order, Order b_order, int m, int n, int k, const float* a, int lda,
          const float* b, int ldb, float beta, float* c, int ldc);

}  // namespace starling::net::cpu
