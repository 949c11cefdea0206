// How convolutions with their sums in vector registers divide their work.
#pragma once

#include <algorithm>

#include "net/cpu/vector.h"

namespace starling::net::cpu {

// AVX-512 has 32 vector registers, AVX has 16. The sums of a pass take most of them;
// the rest hold weights and inputs.
inline constexpr bool kManyRegisters = kLanes == 16;
inline constexpr int kMostVectors = kManyRegisters ? 4 : 2;

// Output cells per pass. Their addresses must fit in the general registers.
template <int kVectors>
inline constexpr int kCellsAtOnce = std::min(10, (kManyRegisters ? 20 : 12) / kVectors);

// Weights of a kernel line per pass over the output cells.
template <int kVectors>
inline constexpr int kTapsAtOnce = (kManyRegisters ? 16 : 12) / kVectors;

constexpr bool DividesChannels(int channels) {
  return channels == 16 || channels == 32 || channels % 64 == 0;
}

// Calls f.operator()<vectors>(first channel) for parts of `channels`, of so many vectors each.
// Returns false, without a call, if the channels cannot be divided so.
template <class F>
bool ForEachChannels(int channels, F f) {
  if (!DividesChannels(channels)) return false;
  if constexpr (kManyRegisters) {
    if (channels == 16) return f.template operator()<1>(0), true;
    if (channels == 32) return f.template operator()<2>(0), true;
  }
  constexpr int kMost = kMostVectors * kLanes;
  for (int c = 0; c < channels; c += kMost) f.template operator()<kMostVectors>(c);
  return true;
}

// Calls f.operator()<n>(). REQUIRES: 1 <= n <= kMax.
template <int kMax, class F>
void WithConstant(int n, F f) {
  if constexpr (kMax > 1) {
    if (n < kMax) return WithConstant<kMax - 1>(n, f);
  }
  f.template operator()<kMax>();
}

// Calls f.operator()<length>(first) for parts of [0, n) of nearly equal length, at most kMax.
template <int kMax, class F>
void ForEachPart(int n, F f) {
  const int parts = (n + kMax - 1) / kMax;
  for (int i = 0; i < parts; ++i) {
    const int first = n * i / parts, next = n * (i + 1) / parts;
    WithConstant<kMax>(next - first, [&]<int kLength>() { f.template operator()<kLength>(first); });
  }
}

}  // namespace starling::net::cpu
