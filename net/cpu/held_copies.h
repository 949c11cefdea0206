// Copies of weights in bf16, converted once while the weights are held (net/backend.h).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "core/check.h"
#include "core/memory.h"
#include "net/cpu/bfloat16.h"

namespace starling::net::cpu {

class HeldCopies {
 public:
  void Hold(bool held) {
    CHECK(held != held_, "weights are held once at a time");
    held_ = held;
    for (Copy& copy : copies_) copy.fresh = false;
  }

  // Returns the copy of w (count) that convert(out) writes, from an earlier call if w is held.
  // CHECKs a sample of the weights, so that a change of held weights is detected.
  template <class Convert>
  const Bfloat16* Get(const float* w, int count, Convert convert) {
    auto copy = std::ranges::find(copies_, w, &Copy::of);
    if (copy == copies_.end()) copy = copies_.insert(copy, {.of = w});
    const Probe probe = ProbeOf(w, count);
    if (copy->fresh) {
      CHECK(copy->probe == probe, "weights changed while they were held");
      return copy->values.data();
    }
    copy->values.Reserve(count);
    convert(copy->values.data());
    copy->probe = probe;
    copy->fresh = held_;
    return copy->values.data();
  }

 private:
  using Probe = std::array<std::uint32_t, 64>;  // the bits of 64 weights at equal distances
  struct Copy {
    const float* of = nullptr;
    Buffer<Bfloat16> values{};
    Probe probe{};
    bool fresh = false;  // converted since Hold(true)
  };

  static Probe ProbeOf(const float* w, std::size_t count) {
    Probe probe;
    for (std::size_t i = 0; i < probe.size(); ++i) {
      probe[i] = std::bit_cast<std::uint32_t>(w[count * i / probe.size()]);
    }
    return probe;
  }

  bool held_ = false;
  std::vector<Copy> copies_;
};

}  // namespace starling::net::cpu
