// Counter-based random numbers: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as
// 1, 2, 3", SC 2011). A stream is a key and a counter, so it is plain data: copyable, comparable,
// restartable, and any two streams with different keys are independent. Drawing is constexpr, so
// the same code compiles for a GPU.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>

#include "core/cuda/each.h"

namespace starling {

namespace random_detail {

// The finaliser of splitmix64 (Steele, Lea, Flood, OOPSLA 2014): a bijection that mixes every bit.
constexpr std::uint64_t Mix(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

inline constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15u;

constexpr std::array<std::uint32_t, 2> Split(std::uint64_t x) {
  return {static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(x >> 32)};
}

}  // namespace random_detail

// Ten rounds of Philox 4x32 over `counter` under `key`. Known answers: tests/core/random_test.cc.
constexpr std::array<std::uint32_t, 4> Philox4x32(std::array<std::uint32_t, 4> counter,
                                                  std::array<std::uint32_t, 2> key) {
  constexpr std::uint64_t kMultiply0 = 0xD2511F53u, kMultiply1 = 0xCD9E8D57u;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9u, kWeyl1 = 0xBB67AE85u;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = kMultiply0 * counter[0], product1 = kMultiply1 * counter[2];
    counter = {static_cast<std::uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
               static_cast<std::uint32_t>(product1),
               static_cast<std::uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
               static_cast<std::uint32_t>(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

// The use of a stream; part of its key, so that no two purposes share numbers.
enum class Purpose : std::uint32_t {
  kEnv = 1,
  kAction = 2,
  kInit = 3,
  kEval = 4,
  kTest = 5,
  kNoop = 6,       // no-ops before an episode
  kSticky = 7,     // sticky actions of envs that draw by themselves
  kBootstrap = 8,  // resampled runs, for the confidence intervals of a report
  kPace = 9,       // duration of the steps of an unroll (env.step_jitter)
  kTime = 10,      // durations in a simulated fleet
  kShuffle = 11,   // division of an unroll into minibatches
};

struct StreamId {
  std::uint64_t seed = 0;  // run.seed
  std::uint32_t slot = 0;  // actor slot
  std::uint32_t life = 0;  // of the streams: new wherever state is lost
  std::uint32_t env = 0;   // index within the actor
  Purpose purpose = Purpose::kTest;
};

// A stream of 32-bit draws. Equal ids give equal streams on every machine.
class RandomStream {
 public:
  explicit RandomStream(const StreamId& id = {});

  // Uniform over 2^32.
  constexpr std::uint32_t Bits() {
    if (used_ == block_.size()) NextBlock();
    return block_[used_++];
  }
  // [0, 1), 24 bits.
  constexpr float Uniform() { return static_cast<float>(Bits() >> 8) * 0x1p-24f; }
  // [0, 1), 53 bits.
  constexpr double UniformDouble() {
    const std::uint64_t high = Bits();
    const std::uint64_t bits = high << 32 | Bits();
    return static_cast<double>(bits >> 11) * 0x1p-53;
  }
  // Uniform over [0, bound), unbiased. REQUIRES: bound >= 1. Returns the high half of a product and
  // draws again for the few low halves that would favour some results (Lemire, "Fast random integer
  // generation in an interval", 2019).
  constexpr std::uint32_t Below(std::uint32_t bound) {
#ifndef __CUDA_ARCH__
    if (bound == 0) FailZeroBound();
#endif
    std::uint64_t product = std::uint64_t{Bits()} * bound;
    if (static_cast<std::uint32_t>(product) < bound) {
      const std::uint32_t surplus = (0u - bound) % bound;  // 2^32 mod bound
      while (static_cast<std::uint32_t>(product) < surplus) {
        product = std::uint64_t{Bits()} * bound;
      }
    }
    return static_cast<std::uint32_t>(product >> 32);
  }
  // Standard normal (Box-Muller).
  HOST_DEVICE float Normal() {
    const double radius = std::sqrt(-2.0 * std::log(1.0 - UniformDouble()));  // the log of (0, 1]
    return static_cast<float>(radius * std::cos(2.0 * std::numbers::pi * UniformDouble()));
  }

  // For core/state_bytes.h.
  template <class State>
  constexpr void Fields(State& state) {
    state(key_);
    state(counter_);
    state(block_);
    state(used_, 0, 4);
  }

  friend bool operator==(const RandomStream&, const RandomStream&) = default;

 private:
  [[noreturn]] static void FailZeroBound();

  constexpr void NextBlock() {
    block_ = Philox4x32(counter_, key_);
    used_ = 0;
    // Only one word counts blocks: after 2^34 draws the stream continues with another key.
    if (++counter_[0] == 0) {
      key_ = random_detail::Split(
          random_detail::Mix((std::uint64_t{key_[1]} << 32 | key_[0]) + random_detail::kGolden));
    }
  }

  std::array<std::uint32_t, 2> key_{};
  std::array<std::uint32_t, 4> counter_{};
  std::array<std::uint32_t, 4> block_{};
  std::uint32_t used_ = 4;  // draws of block_ already handed out
};

}  // namespace starling
