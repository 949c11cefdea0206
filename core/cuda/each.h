// Declared for the host's compiler; defined in each.cuh and instantiated by the .cu files, which hold
// nothing else: nvcc is kept away from host code.
#pragma once

#include <cstddef>

namespace starling::cuda {

// body(i) for i in [0, n). A body that fails to start is found by the next Memory::Wait.
template <class Body>
void ForEach(void* stream, long long n, const Body& body);

// body(i, lanes) for i in [0, n): the lanes work on i together (WarpLanes, OneLane).
template <class Body>
void ForEachWarp(void* stream, long long n, const Body& body);

// body(i, lanes, scratch): as above, with `bytes` (at most kMostScratch) that the lanes of i share
// while they work on it: std::byte*, at a multiple of 16, not cleared.
inline constexpr std::size_t kMostScratch = 48 * 1024;
template <class Body>
void ForEachWarp(void* stream, long long n, std::size_t bytes, const Body& body);

// What a body is given on the host: all the lanes there are.
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
