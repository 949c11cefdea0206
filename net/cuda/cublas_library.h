// NVIDIA's cuBLAS, opened at run time, so that the program starts on machines without it.
//
// Thread safety: pure functions of the file system and of the library, which is thread-safe.
#pragma once

#include <cublas_v2.h>

namespace starling::net::cuda {

// The functions used here. They are the same in all releases since 12.
struct CublasLibrary {
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

  // Opens it at the first call: where the system looks, in the CUDA Toolkit, or among the packages
  // of a Python (nvidia/*/lib). Throws UserError if it is not found or too old.
  static const CublasLibrary& Open();

  // Throws if `status` is an error: UserError if the GPU's memory is full.
  void Check(cublasStatus_t status, const char* what) const;
};

}  // namespace starling::net::cuda
