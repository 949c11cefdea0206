// The contract between the GPU ops (ops.h) and a Device: a GPU (backend.cc), or loops in the tests.
//
//   Memory& memory();
//   const char* name() const;
//   void ForEach(long long n, const Body& body);        // body(i)         (core/cuda/each.h)
//   void ForEachWarp(long long n, const Body& body);    // body(i, lanes)
//   void Multiply(const MatrixProduct& product);
//   void Repeat(int id, const std::function<void()>& ops);
//
// A Device does all its work in one stream, in the order of the calls.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "net/backend.h"

namespace starling::net::cuda {

// c (rows, columns) = a (rows, depth) . b (depth, columns), or c += that product; all dense, C
// order. The array of a transposed factor holds the transpose.
struct MatrixProduct {
  int rows = 1, depth = 1, columns = 1;
  const float* a = nullptr;
  bool a_transposed = false;
  const float* b = nullptr;
  bool b_transposed = false;
  Put put = Put::kReplace;
  float* c = nullptr;
  // The number of such products, computed side by side, and the distances between their arrays.
  int shares = 1;
  long long a_stride = 0, b_stride = 0, c_stride = 0;  // floats
};

// How work is divided. Tests use smaller limits.
struct Limits {
  long long patches = 64ll << 20;  // floats of patches per product of a convolution
  int threads = 1 << 16;           // that fill a GPU: if there are more, each does more
  int shares = 128;                // of a sum over many rows; 1: never divided
  bool direct = true;              // use direct.h and narrow.h where they fit; false: products
};

// Whether the arrays permit loads and stores of Pack<4>.
inline bool Aligned(std::initializer_list<const float*> arrays) {
  for (const float* const array : arrays) {
    if (reinterpret_cast<std::uintptr_t>(array) % 16 != 0) return false;
  }
  return true;
}

}  // namespace starling::net::cuda
