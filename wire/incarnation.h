// The incarnation of an actor, new at every join: (term << 16) | life, where `life` counts the
// joins of its slot in that term of the learner, from 0.
#pragma once

#include <cstdint>

namespace starling::wire {

inline constexpr int kLifeBits = 16;

constexpr std::uint32_t TermOf(std::uint32_t incarnation) { return incarnation >> kLifeBits; }
constexpr std::uint32_t LifeOf(std::uint32_t incarnation) {
  return incarnation & ((1u << kLifeBits) - 1);
}
constexpr std::uint32_t MakeIncarnation(std::uint32_t term, std::uint32_t life) {
  return (term << kLifeBits) | LifeOf(life);
}

}  // namespace starling::wire
