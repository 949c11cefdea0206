// Dense products of row-major matrices, through oneDNN.
#pragma once

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

// Runs on the calling thread alone.
void Gemm(const Product<float>& product);

}  // namespace starling::net::cpu
