// Parallel loops on a GPU. Only declared here, for the host compiler; each.cuh defines the loops
// and the .cu files instantiate them. Those files hold nothing else, so nvcc compiles no host code.
#pragma once

#include <cstddef>

// Marks a function that the host compiler and, if there is one, the GPU compiler both compile.
#ifdef __CUDACC__
#define HOST_DEVICE __host__ __device__
#else
#define HOST_DEVICE
#endif

namespace starling::cuda {

// Throws std::runtime_error with the name of queued work, a plain one or typeid(Body).name(), if it
// did not start, or if it fails and STARLING_CUDA_SYNC=1. All that follow call it.
void CheckStarted(void* stream, const char* work);

// Runs body(i) for i in [0, n).
template <class Body>
void ForEach(void* stream, long long n, const Body& body);

// Runs body(i, lanes) for i in [0, n): the lanes work on i together (WarpLanes, OneLane).
template <class Body>
void ForEachWarp(void* stream, long long n, const Body& body);

// Runs body(i, lanes, scratch): as above, with `bytes` (at most kMaxScratch) of scratch memory
// that the lanes of i share: a std::byte*, aligned to 16, not cleared.
inline constexpr std::size_t kMaxScratch = 48 * 1024;
template <class Body>
void ForEachWarp(void* stream, long long n, std::size_t bytes, const Body& body);

// The lanes argument of a body on the host: a single lane.
struct OneLane {
  int index() const { return 0; }
  int count() const { return 1; }
  void Sync() const {}
  template <class T>
  T Sum(T value) const {
    return value;
  }
};

}  // namespace starling::cuda
