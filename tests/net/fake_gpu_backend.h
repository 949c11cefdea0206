// The backend of a GPU whose every thread is a turn of a loop, and whose products are plain ones.
#pragma once

#include "core/cuda/each.h"
#include "net/cuda/ops.h"
#include "tests/support/fake_gpu.h"

namespace starling::net::testing {

class FakeDevice {
 public:
  explicit FakeDevice(FakeGpu& gpu) : gpu_(gpu) {}

  Memory& memory() { return gpu_.memory(); }
  const char* name() const { return "loops"; }

  template <class Body>
  void ForEach(long long n, const Body& body) {
    gpu_.Ask([n, body] {
      for (long long i = 0; i < n; ++i) body(i);
    });
  }
  template <class Body>
  void ForEachWarp(long long n, const Body& body) {
    gpu_.Ask([n, body] {
      for (long long i = 0; i < n; ++i) body(i, starling::cuda::OneLane{});
    });
  }
  void Multiply(const cuda::MatrixProduct& product) {
    gpu_.Ask([product] {
      for (int share = 0; share < product.shares; ++share) MultiplyShare(product, share);
    });
  }
  void Repeat(int id, const std::function<void()>& ops) { gpu_.Repeat(id, ops); }

 private:
  static void MultiplyShare(const cuda::MatrixProduct& p, int share) {
    const float *const a = p.a + share * p.a_stride, *const b = p.b + share * p.b_stride;
    float* const c = p.c + share * p.c_stride;
    const long long rows = p.rows, depth = p.depth, columns = p.columns;
    for (long long i = 0; i < rows; ++i) {
      for (long long j = 0; j < columns; ++j) {
        double sum = p.put == Put::kAdd ? static_cast<double>(c[i * columns + j]) : 0;
        for (long long k = 0; k < depth; ++k) {
          const float left = a[p.a_transposed ? k * rows + i : i * depth + k];
          const float right = b[p.b_transposed ? j * depth + k : k * columns + j];
          sum += static_cast<double>(left) * static_cast<double>(right);
        }
        c[i * columns + j] = static_cast<float>(sum);
      }
    }
  }

  FakeGpu& gpu_;
};

inline std::unique_ptr<Backend<float>> MakeFakeGpuBackend(FakeGpu& gpu,
                                                          const cuda::Limits& limits = {}) {
  return std::make_unique<cuda::GpuOps<FakeDevice>>(limits, gpu);
}

}  // namespace starling::net::testing
