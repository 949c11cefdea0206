// Converted copies of weights, made once while the weights are held (HeldWeights in net/backend.h).
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "core/buffer.h"
#include "core/check.h"
#include "net/cpu/bfloat16.h"

namespace starling::net::cpu {

class HeldCopies {
 public:
  void Hold(bool held) {
    CHECK(held != held_, "weights are held once at a time");
    held_ = held;
    for (Copy& copy : copies_) copy.fresh = false;
  }

  // What `convert(out)` makes of the weights w (count): now, or earlier if they are held. Some of them
  // are compared with what they were, so that a change while they are held does not go unseen.
  template <class Convert>
  const Bfloat16* Get(const float* w, int count, Convert convert) {
    auto copy = std::ranges::find(copies_, w, &Copy::of);
    if (copy == copies_.end()) copy = copies_.insert(copy, {.of = w});
    const Probe probe = ProbeOf(w, count);
    if (copy->fresh) {
      CHECK(copy->probe == probe, "weights changed while they were held");
      return copy->values.data();
    }
    copy->values.Reserve(static_cast<std::size_t>(count));
    convert(copy->values.data());
    copy->probe = probe;
    copy->fresh = held_;
    return copy->values.data();
  }

 private:
  using Probe = std::array<std::uint32_t, 64>;  // bits of weights from all over
  struct Copy {
    const float* of = nullptr;
    Buffer<Bfloat16> values{};
    Probe probe{};
    bool fresh = false;  // made since they are held
  };

  static Probe ProbeOf(const float* w, int count) {
    Probe probe;
    const auto size = static_cast<int>(probe.size());
    for (int i = 0; i < size; ++i) {
      const std::int64_t at = std::int64_t{count} * i / size;
      probe[static_cast<std::size_t>(i)] = std::bit_cast<std::uint32_t>(w[at]);
    }
    return probe;
  }

  bool held_ = false;
  std::vector<Copy> copies_;
};

}  // namespace starling::net::cpu
