// The backend of a GPU: the ops of ops.h on a device whose products are NVIDIA's cuBLAS.
#include "net/backend.h"
#include "core/cuda/each.h"
#include "core/gpu.h"
#include "core/memory.h"
#include "net/cuda/cublas_library.h"
#include "net/cuda/ops.h"

namespace starling::net {
namespace {

using cuda::CublasLibrary;

// Bytes; NVIDIA's advice for Hopper. It is allocated at the start, because cuBLAS cannot allocate
// inside a recorded graph. It is not shared between streams, which could change the choice of
// algorithms and so the bits.
constexpr std::size_t kWorkspace = 32u << 20;

cublasComputeType_t ComputeType(Precision precision) {
  switch (precision) {
    case Precision::kTf32:
      return CUBLAS_COMPUTE_32F_FAST_TF32;
    case Precision::kBf16:
      return CUBLAS_COMPUTE_32F_FAST_16BF;
    default:
      return CUBLAS_COMPUTE_32F;
  }
}

cublasOperation_t Operation(bool transposed) { return transposed ? CUBLAS_OP_T : CUBLAS_OP_N; }

// Thread safety: that of its Gpu.
class Cublas {
 public:
  Cublas(Gpu& gpu, Precision precision)
      : library_(CublasLibrary::Open()),
        stream_(gpu.stream()),
        type_(ComputeType(precision)),
        workspace_(kWorkspace, gpu.memory()),
        handle_(Start(), library_.destroy) {
    // The stream is set first, because setting it resets the workspace.
    library_.Check(library_.set_stream(handle_.get(), static_cast<cudaStream_t>(stream_)),
                   "starting");
    library_.Check(library_.set_workspace(handle_.get(), workspace_.data(), kWorkspace),
                   "starting");
  }

  // cuBLAS stores matrices column by column, so it sees our arrays transposed: it computes
  // cT = bT . aT.
  void Multiply(const cuda::MatrixProduct& p) {
    const cublasOperation_t of_a = Operation(p.a_transposed), of_b = Operation(p.b_transposed);
    const int lda = p.a_transposed ? p.rows : p.depth, ldb = p.b_transposed ? p.depth : p.columns;
    const float one = 1, beta = p.put == Put::kAdd ? 1 : 0;
    const auto status =
        p.shares == 1
            ? library_.gemm(handle_.get(), of_b, of_a, p.columns, p.rows, p.depth, &one, p.b,
                            CUDA_R_32F, ldb, p.a, CUDA_R_32F, lda, &beta, p.c, CUDA_R_32F,
                            p.columns, type_, CUBLAS_GEMM_DEFAULT)
            : library_.gemm_strided_batched(handle_.get(), of_b, of_a, p.columns, p.rows, p.depth,
                                            &one, p.b, CUDA_R_32F, ldb, p.b_stride, p.a, CUDA_R_32F,
                                            lda, p.a_stride, &beta, p.c, CUDA_R_32F, p.columns,
                                            p.c_stride, p.shares, type_, CUBLAS_GEMM_DEFAULT);
    library_.Check(status, "a product");
    starling::cuda::CheckStarted(stream_, "a product of cuBLAS");
  }

 private:
  cublasHandle_t Start() const {
    cublasHandle_t handle = nullptr;
    library_.Check(library_.create(&handle), "starting");
    return handle;
  }

  const CublasLibrary& library_;
  void* const stream_;
  const cublasComputeType_t type_;
  Buffer<std::byte> workspace_;
  const std::unique_ptr<cublasContext, decltype(CublasLibrary::destroy)> handle_;
};

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
  Cublas cublas_;
};

}  // namespace

std::unique_ptr<Backend<float>> MakeCudaBackend(Gpu& gpu, Precision precision) {
  return std::make_unique<cuda::GpuOps<CudaDevice>>(cuda::Limits{}, gpu, precision);
}

}  // namespace starling::net
