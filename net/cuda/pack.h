// What bodies for a GPU's threads share: loads of adjacent floats at once, fast division, sums.
//
// A body is a struct that holds its arguments; operator()(i) is what thread i of n does, or
// operator()(i, lanes) what warp i of n does together (core/cuda/each.h). Bodies compile for the
// host, too, where the tests run them; this is also why they include no checks and no fmt.
#pragma once

#include <cstdint>

#include "core/cuda/each.h"

namespace starling::net::cuda {

// kWide adjacent floats, moved as one.
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

// Division of indices by what is only known when the program runs: a multiplication and a shift.
// Exact below 2^31: the multiplier is too large by less than 1 in 2^31 (Granlund and Montgomery
// 1994).
class Divisor {
 public:
  Divisor() = default;
  explicit Divisor(int divisor) : divisor_(static_cast<std::uint32_t>(divisor)) {
    for (shift_ = 31; (std::uint64_t{1} << (shift_ - 31)) < divisor_;) ++shift_;
    multiplier_ =
        static_cast<std::uint32_t>(((std::uint64_t{1} << shift_) + divisor_ - 1) / divisor_);
  }
  HOST_DEVICE std::uint32_t Quotient(std::uint32_t n) const {
    return static_cast<std::uint32_t>((std::uint64_t{n} * multiplier_) >> shift_);
  }
  // Replaces n by the quotient and returns the remainder.
  HOST_DEVICE std::uint32_t Split(std::uint32_t& n) const {
    const std::uint32_t quotient = Quotient(n), remainder = n - quotient * divisor_;
    n = quotient;
    return remainder;
  }
  HOST_DEVICE std::uint32_t Remainder(std::uint32_t n) const { return Split(n); }
  HOST_DEVICE int divisor() const { return static_cast<int>(divisor_); }

 private:
  std::uint32_t divisor_ = 1, multiplier_ = 0x80000000u, shift_ = 31;
};

// The sum of at(first), at(first + step) ... below end, eight at a time: a thread that waits for
// one load waits for all eight.
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
