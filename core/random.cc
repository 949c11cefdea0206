#include "core/random.h"

#include <cmath>
#include <numbers>

#include "core/check.h"

namespace starling {
namespace {

// The finaliser of splitmix64 (Steele, Lea, Flood, OOPSLA 2014): a bijection that mixes every bit.
std::uint64_t Mix(std::uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9u;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15u;

std::array<std::uint32_t, 2> Split(std::uint64_t x) {
  return {static_cast<std::uint32_t>(x), static_cast<std::uint32_t>(x >> 32)};
}

}  // namespace

std::array<std::uint32_t, 4> Philox4x32(std::array<std::uint32_t, 4> counter,
                                        std::array<std::uint32_t, 2> key) {
  constexpr std::uint64_t kMultiply0 = 0xD2511F53u, kMultiply1 = 0xCD9E8D57u;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9u, kWeyl1 = 0xBB67AE85u;
  for (int round = 0; round < 10; ++round) {
    const auto [low0, high0] = Split(kMultiply0 * counter[0]);
    const auto [low1, high1] = Split(kMultiply1 * counter[2]);
    counter = {high1 ^ counter[1] ^ key[0], low1, high0 ^ counter[3] ^ key[1], low0};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

// Slot, incarnation and env stand in the counter as they are, and the key is a bijection of the
// seed for a given purpose and of the purpose for a given seed. So within a run two different ids
// never share a (key, counter) pair; between runs only if two 64-bit mixes happen to meet.
RandomStream::RandomStream(const StreamId& id)
    : key_(Split(Mix(Mix(id.seed + kGolden) + kGolden * static_cast<std::uint32_t>(id.purpose)))),
      counter_{0, id.slot, id.incarnation, id.env} {}

std::uint32_t RandomStream::Bits() {
  if (used_ == block_.size()) {
    block_ = Philox4x32(counter_, key_);
    used_ = 0;
    // Only one word counts blocks: after 2^34 draws the stream goes on under another key.
    if (++counter_[0] == 0) {
      key_ = Split(Mix((std::uint64_t{key_[1]} << 32 | key_[0]) + kGolden));
    }
  }
  return block_[used_++];
}

float RandomStream::Uniform() { return static_cast<float>(Bits() >> 8) * 0x1p-24f; }

double RandomStream::UniformDouble() {
  const std::uint64_t high = Bits();
  const std::uint64_t bits = high << 32 | Bits();
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

// Multiply and take the high half; the few low halves that would favour some results are drawn
// again (Lemire, "Fast random integer generation in an interval", 2019).
std::uint32_t RandomStream::Below(std::uint32_t bound) {
  CHECK(bound >= 1);
  std::uint64_t product = std::uint64_t{Bits()} * bound;
  if (static_cast<std::uint32_t>(product) < bound) {
    const std::uint32_t surplus = (0u - bound) % bound;  // 2^32 mod bound
    while (static_cast<std::uint32_t>(product) < surplus) {
      product = std::uint64_t{Bits()} * bound;
    }
  }
  return static_cast<std::uint32_t>(product >> 32);
}

float RandomStream::Normal() {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - UniformDouble()));  // the log of (0, 1]
  return static_cast<float>(radius * std::cos(2.0 * std::numbers::pi * UniformDouble()));
}

}  // namespace starling
