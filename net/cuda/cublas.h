// Matrix products on a GPU by NVIDIA's cuBLAS. The library is opened at run time, so that the
// program starts on machines without it.
#pragma once

#include "core/gpu.h"
#include "net/cuda/device.h"

namespace starling::net::cuda {

// Thread safety: that of its Gpu.
class Cublas {
 public:
  // `gpu` must outlive it. Throws UserError, which names the package, if cuBLAS is not found.
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
