// Large fully connected layers on the CPU with factors in bf16; shapes in net/op_args.h. Biases,
// sums and outputs are f32.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <vector>

#include "core/bfloat16.h"
#include "core/check.h"
#include "core/memory.h"
#include "net/cpu/amx.h"
#include "net/cpu/gemm.h"
#include "net/op_args.h"

namespace starling::net::cpu {

// Copies of weights in bf16, converted once while the weights are held (net/backend.h).
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

// Products by AMX.
class AmxLinear {
 public:
  static bool Suits(const LinearShape& shape) {
    return shape.in % 32 == 0 && shape.out % 32 == 0 && amx::Available();
  }

  // As in Backend.
  void HoldWeights(bool held) { weights_.Hold(held); }
  void Forward(const LinearForwardArgs<float>& args);
  void Backward(const LinearBackwardArgs<float>& args);

 private:
  HeldCopies weights_;  // right tiles (OUT / 16, IN / 32)
  Buffer<Bfloat16> left_, right_, x_, w_;
};

// Products by AMX for the shapes that suit it, by oneDNN for all others.
class Bf16Linear {
 public:
  // Whether the layer is so large that faster products outweigh the conversions. The ops below
  // require it.
  static bool Suits(const LinearShape& shape) { return shape.in * shape.out >= 128 * 128; }

  // As in Backend.
  void HoldWeights(bool held);
  void Forward(const LinearForwardArgs<float>& args);
  void BackwardWeights(const LinearBackwardWeightsArgs<float>& args);
  void BackwardInput(const LinearBackwardInputArgs<float>& args);  // REQUIRES: it replaces dx
  void Backward(const LinearBackwardArgs<float>& args);

 private:
  const Bfloat16* Weights(const LinearShape& shape, const float* w);

  AmxLinear amx_;
  Bf16Gemm gemm_;
  HeldCopies weights_;  // (IN, OUT), for gemm_
  Buffer<Bfloat16> x_, dy_;
};

}  // namespace starling::net::cpu
