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

// The names of at most 64 situations, given in one text with "; " between them.
class Names {
 public:
  consteval explicit Names(std::string_view text) {
    while (!text.empty()) {
      names_.at(size_) = text.substr(0, text.find("; "));
      text.remove_prefix(std::min(text.size(), names_[size_++].size() + 2));
    }
  }
  constexpr std::size_t size() const { return size_; }
  constexpr std::string_view at(std::size_t situation) const { return names_.at(situation); }
  // The situation of this name; it does not compile if there is none.
  consteval std::size_t operator[](std::string_view name) const {
    std::size_t situation = 0;
    while (names_.at(situation) != name) ++situation;
    return situation;
  }

 private:
  std::array<std::string_view, 64> names_;
  std::size_t size_ = 0;
};

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
