// Tools for bodies of GPU threads: vector loads, fast division, sums.
//
// A body is a struct that holds its arguments. operator()(i) is the work of thread i of n,
// operator()(i, lanes) that of warp i of n (core/cuda/each.h). Bodies also compile for the host,
// where the tests run them. They use neither CHECK nor fmt, which do not compile for a GPU.
#pragma once

#include <cstdint>

#include "core/cuda/each.h"

namespace starling::net::cuda {

// kWide adjacent floats, loaded and stored by one instruction.
template <int kWide>
struct alignas(4 * kWide) Pack {
  float v[kWide];
};

template <int kWide>
HOST_DEVICE inline Pack<kWide> Load(const float* from) {
  return *reinterpret_cast<const Pack<kWide>*>(from);
}
template <int kWide>
HOST_DEVICE inline void Store(float* to, const Pack<kWide>& pack) {
  *reinterpret_cast<Pack<kWide>*>(to) = pack;
}

// Division of indices by a divisor that is unknown at compile time: a multiplication and a shift.
// Exact for n in [0, 2^31): the multiplier is too large by less than 1 in 2^31 (Granlund and
// Montgomery 1994).
class Divisor {
 public:
  Divisor() = default;
  explicit Divisor(int divisor) : divisor_(divisor) {
    const std::uint64_t wide = divisor;
    for (shift_ = 31; (std::uint64_t{1} << (shift_ - 31)) < wide;) ++shift_;
    multiplier_ = static_cast<std::uint32_t>(((std::uint64_t{1} << shift_) + wide - 1) / wide);
  }
  HOST_DEVICE int Quotient(int n) const {
    const std::uint32_t index = n;
    return static_cast<int>((std::uint64_t{index} * multiplier_) >> shift_);
  }
  // Replaces n by the quotient and returns the remainder.
  HOST_DEVICE int Split(int& n) const {
    const int quotient = Quotient(n), remainder = n - quotient * divisor_;
    n = quotient;
    return remainder;
  }
  HOST_DEVICE int Remainder(int n) const { return Split(n); }
  HOST_DEVICE int divisor() const { return divisor_; }

 private:
  int divisor_ = 1;
  std::uint32_t multiplier_ = 0x80000000u, shift_ = 31;
};

// The sum of at(first), at(first + step) ... below end. Eight terms at a time, so that a thread
// waits for eight loads at once.
template <class T, class At>
HOST_DEVICE inline T StridedSum(long long first, long long end, long long step, At at) {
  T sums[8] = {};
  long long j = first;
  for (; j + 7 * step < end; j += 8 * step) {
    for (int u = 0; u < 8; ++u) sums[u] += at(j + u * step);
  }
  for (; j < end; j += step) sums[0] += at(j);
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

}  // namespace starling::net::cuda
