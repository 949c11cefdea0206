#include "core/cuda/each.h"
#include "net/cuda/cublas.h"
#include "net/cuda/ops.h"
#include "net/gpu.h"

namespace starling::net {
namespace {

// The Device (device.h) of a GPU: all work goes to the stream of `gpu`. The .cu files instantiate
// the bodies.
class CudaDevice {
 public:
  CudaDevice(Gpu& gpu, Precision precision)
      : gpu_(gpu), precision_(precision), cublas_(gpu, precision) {}

  Memory& memory() { return gpu_.memory(); }
  const char* name() const {
    switch (precision_) {
      case Precision::kTf32:
        return "cuda, tf32";
      case Precision::kBf16:
        return "cuda, bf16";
      default:
        return "cuda";
    }
  }

  template <class Body>
  void ForEach(long long n, const Body& body) {
    starling::cuda::ForEach(gpu_.stream(), n, body);
  }
  template <class Body>
  void ForEachWarp(long long n, const Body& body) {
    starling::cuda::ForEachWarp(gpu_.stream(), n, body);
  }
  void Multiply(const cuda::MatrixProduct& product) { cublas_.Multiply(product); }
  void Repeat(int id, const std::function<void()>& ops) { gpu_.Repeat(id, ops); }

 private:
  Gpu& gpu_;
  const Precision precision_;
  cuda::Cublas cublas_;
};

}  // namespace

std::unique_ptr<Backend<float>> MakeCudaBackend(Gpu& gpu, Precision precision) {
  return std::make_unique<cuda::GpuOps<CudaDevice>>(cuda::Limits{}, gpu, precision);
}

}  // namespace starling::net
