// What the ops of a GPU (ops.h) ask of whatever does the work: a GPU (backend.cc), or loops in the tests.
//
//   Memory& memory();
//   const char* name() const;
//   void ForEach(long long n, const Body& body);        // body(i)         (core/cuda/each.h)
//   void ForEachWarp(long long n, const Body& body);    // body(i, lanes)
//   void Multiply(const MatrixProduct& product);
//   void Repeat(int id, const std::function<void()>& ops);
//
// All in one stream, in order.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "net/backend.h"

namespace starling::net::cuda {

// c (rows, columns) = a (rows, depth) . b (depth, columns), or is added to it; all dense, C order. Of a
// transposed factor the array holds the transpose.
struct MatrixProduct {
  int rows = 1, depth = 1, columns = 1;
  const float* a = nullptr;
  bool a_transposed = false;
  const float* b = nullptr;
  bool b_transposed = false;
  Put put = Put::kReplace;
  float* c = nullptr;
  // How many such products, side by side, and how far apart in floats their arrays are.
  int shares = 1;
  long long a_stride = 0, b_stride = 0, c_stride = 0;
};

// How work is cut; tests make them small.
struct Limits {
  long long patches = 64ll << 20;  // floats: more samples of a convolution are done in parts
  int shares = 128;                // of a sum over many rows; 1: never cut
  bool direct = true;              // direct.h where it fits, else products only
};

// Whether four adjacent floats can be moved at once.
inline bool Aligned(std::initializer_list<const float*> arrays) {
  for (const float* const array : arrays) {
    if (reinterpret_cast<std::uintptr_t>(array) % 16 != 0) return false;
  }
  return true;
}

}  // namespace starling::net::cuda
