#include "net/cuda/cublas.h"

#include <cublas_v2.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <string>

#include "core/error.h"
#include "core/gpu.h"
#include "core/memory.h"

namespace starling::net::cuda {
namespace {

// Bytes; NVIDIA's advice for Hopper. It is allocated at the start, because cuBLAS cannot allocate
// inside a recorded graph. It is not shared between streams, which could change the choice of
// algorithms and so the bits.
constexpr std::size_t kWorkspace = 32u << 20;

// Tries the release of the headers first. The functions used here are the same in all releases.
void* Open() {
  const std::string own = fmt::format("libcublas.so.{}", CUBLAS_VER_MAJOR);
  for (const std::string& name : {own, std::string("libcublas.so.13"),
                                  std::string("libcublas.so.12"), std::string("libcublas.so")}) {
    for (const char* folder : {"", STARLING_CUDA_LIBRARIES "/", "/usr/local/cuda/lib64/"}) {
      if (void* const library = dlopen((folder + name).c_str(), RTLD_NOW | RTLD_LOCAL)) {
        return library;
      }
    }
  }
  throw UserError(
      "cuBLAS was not found (libcublas.so.12 or .13): install it (package cuda-libraries or "
      "libcublas of NVIDIA's, or the CUDA Toolkit) or add its folder to LD_LIBRARY_PATH, or set "
      "actors.backend = \"cpu\"");
}

template <class Function>
void Find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function != nullptr) return;
  throw UserError(fmt::format(
      "cuBLAS lacks {}: install that of CUDA 12 or newer, or set actors.backend = \"cpu\"", name));
}

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

}  // namespace

// The functions used here.
struct Cublas::Library {
  decltype(&cublasCreate_v2) create;
  decltype(&cublasDestroy_v2) destroy;
  decltype(&cublasSetStream_v2) set_stream;
  decltype(&cublasSetWorkspace_v2) set_workspace;
  decltype(&cublasGetStatusString) status_string;
  // These two are overloaded in C++.
  cublasStatus_t (*gemm)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int m, int n, int k,
                         const void* alpha, const void* a, cudaDataType, int lda, const void* b,
                         cudaDataType, int ldb, const void* beta, void* c, cudaDataType, int ldc,
                         cublasComputeType_t, cublasGemmAlgo_t);
  cublasStatus_t (*gemm_strided_batched)(cublasHandle_t, cublasOperation_t, cublasOperation_t,
                                         int m, int n, int k, const void* alpha, const void* a,
                                         cudaDataType, int lda, long long a_stride, const void* b,
                                         cudaDataType, int ldb, long long b_stride,
                                         const void* beta, void* c, cudaDataType, int ldc,
                                         long long c_stride, int count, cublasComputeType_t,
                                         cublasGemmAlgo_t);

  Library() {
    void* const library = Open();
    Find(library, "cublasCreate_v2", create);
    Find(library, "cublasDestroy_v2", destroy);
    Find(library, "cublasSetStream_v2", set_stream);
    Find(library, "cublasSetWorkspace_v2", set_workspace);
    Find(library, "cublasGetStatusString", status_string);
    Find(library, "cublasGemmEx", gemm);
    Find(library, "cublasGemmStridedBatchedEx", gemm_strided_batched);
  }

  void Check(cublasStatus_t status, const char* what) const {
    if (status == CUBLAS_STATUS_SUCCESS) return;
    const std::string failed =
        fmt::format("the GPU: {} by cuBLAS failed ({})", what, status_string(status));
    if (status == CUBLAS_STATUS_ALLOC_FAILED || status == CUBLAS_STATUS_NOT_INITIALIZED) {
      throw UserError(fmt::format("{}: perhaps {}", failed, kGpuMemoryFull));
    }
    throw std::runtime_error(failed + ": run `starling doctor`");
  }
};

const Cublas::Library& Cublas::TheLibrary() {
  static const Library library;
  return library;
}

struct Cublas::State {
  ~State() {
    if (handle != nullptr) library.destroy(handle);
  }

  const Library& library;
  const cublasComputeType_t type;
  Buffer<std::byte> workspace;
  cublasHandle_t handle = nullptr;
};

Cublas::Cublas(Gpu& gpu, Precision precision)
    : state_(std::make_unique<State>(TheLibrary(), ComputeType(precision),
                                     Buffer<std::byte>(kWorkspace, gpu.memory()))) {
  const Library& library = state_->library;
  library.Check(library.create(&state_->handle), "starting");
  // The stream is set first, because setting it resets the workspace.
  library.Check(library.set_stream(state_->handle, static_cast<cudaStream_t>(gpu.stream())),
                "starting");
  library.Check(library.set_workspace(state_->handle, state_->workspace.data(), kWorkspace),
                "starting");
}

Cublas::~Cublas() = default;

// cuBLAS stores matrices column by column, so it sees our arrays transposed: it computes
// cT = bT . aT.
void Cublas::Multiply(const MatrixProduct& p) {
  const Library& library = state_->library;
  const cublasOperation_t of_a = Operation(p.a_transposed), of_b = Operation(p.b_transposed);
  const int lda = p.a_transposed ? p.rows : p.depth, ldb = p.b_transposed ? p.depth : p.columns;
  const float one = 1, beta = p.put == Put::kAdd ? 1 : 0;
  const auto status =
      p.shares == 1
          ? library.gemm(state_->handle, of_b, of_a, p.columns, p.rows, p.depth, &one, p.b,
                         CUDA_R_32F, ldb, p.a, CUDA_R_32F, lda, &beta, p.c, CUDA_R_32F, p.columns,
                         state_->type, CUBLAS_GEMM_DEFAULT)
          : library.gemm_strided_batched(state_->handle, of_b, of_a, p.columns, p.rows, p.depth,
                                         &one, p.b, CUDA_R_32F, ldb, p.b_stride, p.a, CUDA_R_32F,
                                         lda, p.a_stride, &beta, p.c, CUDA_R_32F, p.columns,
                                         p.c_stride, p.shares, state_->type, CUBLAS_GEMM_DEFAULT);
  library.Check(status, "a product");
}

}  // namespace starling::net::cuda
