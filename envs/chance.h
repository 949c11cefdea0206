// Where a game's random draws come from.
//
// A game's Reset and Step are templates over a Chance, so that the same code plays from a random
// stream (RandomChance), from a list of recorded draws (ScriptedChance: tests and traces), and from
// whatever a GPU kernel brings. A game draws one number at a time, in a fixed order:
//
//   Uniform()           a real in [0, 1)              numpy's rand()
//   Below(n)            an integer in [0, n), n >= 1  randint(n), and choice(list): the index drawn
//   Between(low, high)  an integer in [low, high)     randint(low, high)
//
// An array drawn by one recorded call (rand(8), randint(1, 6, 8)) is its elements drawn one by one.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/random.h"

namespace starling::envs {

template <class T>
concept Chance = requires(T& chance, int n) {
  { chance.Uniform() } -> std::same_as<double>;
  { chance.Below(n) } -> std::same_as<int>;
  { chance.Between(n, n) } -> std::same_as<int>;
};

// Draws from a stream that somebody else keeps (and that must outlive this).
class RandomChance {
 public:
  explicit constexpr RandomChance(RandomStream& stream) : stream_(stream) {}

  constexpr double Uniform() { return stream_.UniformDouble(); }
  constexpr int Below(int n) {
    return static_cast<int>(stream_.Below(static_cast<std::uint32_t>(n)));
  }
  constexpr int Between(int low, int high) { return low + Below(high - low); }

 private:
  RandomStream& stream_;
};

// One recorded draw: a real in [0, 1), or an integer in [low, high).
struct Draw {
  enum class Kind { kUniform, kInteger };
  Kind kind = Kind::kUniform;
  int low = 0, high = 0;  // of an integer
  double value = 0;       // an integer's value is whole

  static Draw Uniform(double value) { return {Kind::kUniform, 0, 0, value}; }
  static Draw Integer(int low, int high, int value) {
    return {Kind::kInteger, low, high, double(value)};
  }
  static Draw Below(int n, int value) { return Integer(0, n, value); }
};

// Hands out recorded draws in order and remembers the first that was not what the game asked for.
// A draw that does not fit is answered with the lowest value of what was asked, and the script
// stays where it is: the game goes on with something legal, and Mismatch() tells.
class ScriptedChance {
 public:
  explicit ScriptedChance(std::vector<Draw> draws) : draws_(std::move(draws)) {}

  double Uniform();
  int Below(int n) { return Between(0, n); }
  int Between(int low, int high);

  // Empty if the game asked for exactly the recorded draws; otherwise what differs, in a few words,
  // be it a wrong kind or range, a script that ran out, or draws nobody asked for.
  std::string Mismatch() const;

 private:
  const Draw* Next(const Draw& asked);

  std::vector<Draw> draws_;
  std::size_t next_ = 0;
  std::string mismatch_;
};

// The action played where `asked` was asked for: the one before it with the given probability. It
// takes exactly one Uniform(), whatever the probability, so that switching sticky actions off
// leaves every other draw of an episode where it was.
template <Chance C>
constexpr int StickyAction(int asked, int last, double probability, C& chance) {
  return chance.Uniform() < probability ? last : asked;
}

}  // namespace starling::envs
