// Dense products of row-major matrices, through oneDNN, on the calling thread alone.
#pragma once

#include <memory>

#include "core/bfloat16.h"
#include "net/op_args.h"

namespace starling::net::cpu {

// c (rows, columns) = a (rows, depth) . b (depth, columns), or c += that product; all dense, C
// order. The array of a transposed factor holds the transpose.
template <class T>
struct Product {
  int rows, depth, columns;
  const T* a;
  bool a_transposed = false;
  const T* b;
  bool b_transposed = false;
  Put put = Put::kReplace;
  float* c;
};

void Gemm(const Product<float>& product);

// Products of bf16 matrices, summed in f32. oneDNN generates code for each shape. It is kept: a net
// has only a few shapes.
class Bf16Gemm {
 public:
  Bf16Gemm();
  ~Bf16Gemm();

  // REQUIRES: product.put is kReplace.
  void Multiply(const Product<Bfloat16>& product);

 private:
  class Kernels;
  const std::unique_ptr<Kernels> kernels_;
};

// Whether this processor multiplies bf16 (avx512_bf16 or amx_bf16) and, in a build for it,
// ONEDNN_MAX_CPU_ISA does not forbid it.
bool HasBf16Products();

// Prepares the *calling thread* for oneDNN. The products do it once on each thread that uses them.
// - Debian builds oneDNN on OpenMP. Products of this thread run on it alone from now on, instead of
//   on one thread per core; OpenMP keeps that setting per thread. A team of one never starts a
//   thread pool, so no idle thread spins.
// - Kernels of oneDNN before 3.11.2 point the stack register into the heap. A signal that
//   interrupts such a kernel overwrites heap memory (uxlfoundation/oneDNN, issue 4845). From now on
//   this thread has a separate stack for handlers installed with SA_ONSTACK, as all of ours are.
void PrepareThread();

}  // namespace starling::net::cpu
