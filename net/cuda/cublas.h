// Products on a GPU by NVIDIA's cuBLAS, which is opened when the program runs: a machine without it, and
// without a GPU, runs everything else.
#pragma once

#include "core/gpu.h"
#include "net/cuda/device.h"

namespace starling::net::cuda {

// Thread safety: as its Gpu.
class Cublas {
 public:
  // `gpu` must outlive it. Throws UserError, with what to install, if cuBLAS is not found.
  Cublas(Gpu& gpu, Precision precision);
  ~Cublas();
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  void Multiply(const MatrixProduct& product);

 private:
  struct Library;
  struct State;
  static const Library& TheLibrary();

  std::unique_ptr<State> state_;
};

}  // namespace starling::net::cuda
