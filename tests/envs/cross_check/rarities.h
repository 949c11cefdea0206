// Situations that are worth reaching in a comparison: counted, and sought by the players.
//
// Rarities<G> describes, of a game
//   kNames    the situations
//   Seen      bit i: a step (the game before and after it) was situation i
//   Liking    how much a player likes to end up somewhere, beside points and situations
//   kDepth    how many steps it looks ahead
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "envs/game.h"

namespace starling::envs::cross_check {

using Tastes = std::array<double, 4>;  // in [0, 1), of a player

template <class G>
struct Rarities;

// The names of `count` situations, given in one text with "; " between them.
template <std::size_t count>
constexpr std::array<std::string_view, count> Names(std::string_view text) {
  std::array<std::string_view, count> names;
  for (std::string_view& name : names) {
    name = text.substr(0, text.find("; "));
    text.remove_prefix(std::min(text.size(), name.size() + 2));
  }
  return names;
}

// Collects situations as bits.
class Bits {
 public:
  constexpr void Add(std::size_t situation, bool seen = true) {
    bits_ |= std::uint64_t{seen} << situation;
  }
  constexpr std::uint64_t all() const { return bits_; }

 private:
  std::uint64_t bits_ = 0;
};

}  // namespace starling::envs::cross_check
