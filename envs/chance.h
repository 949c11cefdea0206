// The sources of a game's random draws.
//
// A game's Reset and Step are templates over a Chance, so the same code plays from a random stream
// (RandomChance) and from a list of recorded draws (ScriptedChance: tests and traces). A game draws
// one number at a time, in a fixed order:
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
#include <type_traits>
#include <vector>

#include "core/random.h"

namespace starling::envs {

template <class T>
concept Chance = requires(T& chance, int n) {
  { chance.Uniform() } -> std::same_as<double>;
  { chance.Below(n) } -> std::same_as<int>;
  { chance.Between(n, n) } -> std::same_as<int>;
};

// Draws from the caller's stream, which must outlive this object.
class RandomChance {
 public:
  explicit constexpr RandomChance(RandomStream& stream) : stream_(stream) {}

  constexpr double Uniform() { return stream_.UniformDouble(); }
  constexpr int Below(int n) { return static_cast<int>(stream_.Below(n)); }
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

// Hands out recorded draws in order and remembers the first that does not match the request. From
// then on every request gets its lowest legal value, so that the game can go on, and Mismatch()
// describes the difference.
class ScriptedChance {
 public:
  explicit ScriptedChance(std::vector<Draw> draws) : draws_(std::move(draws)) {}

  double Uniform();
  int Below(int n) { return Between(0, n); }
  int Between(int low, int high);

  // Returns "" if the game made exactly the recorded draws; otherwise a short description: a wrong
  // kind or range, too few recorded draws, or unused ones.
  std::string Mismatch() const;

 private:
  const Draw* Next(const Draw& asked);

  std::vector<Draw> draws_;
  std::size_t next_ = 0;
  std::string mismatch_;
};

// Returns the action to play for the request `asked`: `last` with the given probability, as a
// whole. Always takes exactly one Uniform(), so switching sticky actions off moves no other draw of
// an episode.
template <class Action, Chance C>
constexpr Action StickyAction(const std::type_identity_t<Action>& asked, const Action& last,
                              double probability, C& chance) {
  return chance.Uniform() < probability ? last : asked;
}

}  // namespace starling::envs
