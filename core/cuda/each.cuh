// Loops with one thread, or one warp, for each of n items, queued in a stream. The body is a struct
// that holds its arguments; its operator() is HOST_DEVICE, so tests run it on the host.
#pragma once

#include <cuda_runtime.h>

#include <typeinfo>

#include "core/cuda/each.h"

namespace starling::cuda {

// kBlocks blocks of ForEach fit on a multiprocessor at once. This limits a thread to
// 65,536 / (256 * 2) = 128 registers, so that a body with many sums does not empty it.
inline constexpr int kBlock = 256, kWarp = 32, kBlocks = 2;

template <class Body>
__global__ void __launch_bounds__(kBlock, kBlocks) EachKernel(long long n, const Body body) {
  const long long i = static_cast<long long>(blockIdx.x) * kBlock + threadIdx.x;
  if (i < n) body(i);
}

// The threads of a warp, which work on one item together.
struct WarpLanes {
  __device__ int index() const { return static_cast<int>(threadIdx.x) % kWarp; }
  __device__ int count() const { return kWarp; }
  // After it, every lane sees the writes that any lane made before it.
  __device__ void Sync() const { __syncwarp(); }
  // Returns the sum over the lanes to each of them.
  template <class T>
  __device__ T Sum(T value) const {
    for (int offset = kWarp / 2; offset > 0; offset /= 2) {
      value += __shfl_xor_sync(0xffffffffu, value, offset);
    }
    return value;
  }
};

template <class Body>
__global__ void __launch_bounds__(kBlock) EachWarpKernel(long long n, const Body body) {
  const long long i = (static_cast<long long>(blockIdx.x) * kBlock + threadIdx.x) / kWarp;
  if (i < n) body(i, WarpLanes{});  // whole warps
}

template <class Body>
__global__ void __launch_bounds__(kBlock)
    EachWarpKernel(long long n, unsigned bytes, const Body body) {
  extern __shared__ __align__(16) std::byte scratch[];  // `bytes` for each warp of the block
  const unsigned warp = threadIdx.x / kWarp;
  const long long i = static_cast<long long>(blockIdx.x) * (blockDim.x / kWarp) + warp;
  if (i < n) body(i, WarpLanes{}, scratch + warp * bytes);
}

template <class Body>
void ForEach(void* stream, long long n, const Body& body) {
  if (n == 0) return;
  const auto blocks = static_cast<unsigned>((n + kBlock - 1) / kBlock);
  EachKernel<<<blocks, kBlock, 0, static_cast<cudaStream_t>(stream)>>>(n, body);
  CheckStarted(stream, typeid(Body).name());
}

template <class Body>
void ForEachWarp(void* stream, long long n, const Body& body) {
  if (n == 0) return;
  const auto blocks = static_cast<unsigned>((n * kWarp + kBlock - 1) / kBlock);
  EachWarpKernel<<<blocks, kBlock, 0, static_cast<cudaStream_t>(stream)>>>(n, body);
  CheckStarted(stream, typeid(Body).name());
}

template <class Body>
void ForEachWarp(void* stream, long long n, std::size_t bytes, const Body& body) {
  if (n == 0) return;
  bytes = (bytes + 15) / 16 * 16;
  const std::size_t fit = bytes == 0 ? kBlock : kMaxScratch / bytes;
  const auto warps = static_cast<unsigned>(fit < kBlock / kWarp ? fit : kBlock / kWarp);
  const auto blocks = static_cast<unsigned>((n + warps - 1) / warps);
  EachWarpKernel<<<blocks, warps * kWarp, warps * bytes, static_cast<cudaStream_t>(stream)>>>(
      n, static_cast<unsigned>(bytes), body);
  CheckStarted(stream, typeid(Body).name());
}

}  // namespace starling::cuda
