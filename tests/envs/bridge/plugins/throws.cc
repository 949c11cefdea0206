// Written with plugin.hpp; throws in the second step of every episode.
#include <stdexcept>

#include "envs/plugin.hpp"

struct Throws {
  static constexpr const char* kName = "throws";
  static constexpr int kHeight = 1, kWidth = 1, kChannels = 1;
  static constexpr float kLow = -1, kHigh = 2;
  static constexpr const char* kActions[] = {"go"};

  int steps = 0;

  void Reset(starling::plugin::Random&) { steps = 0; }
  starling::plugin::Outcome Step(int, starling::plugin::Random&) {
    if (++steps == 2) throw std::runtime_error("out of cards");
    return {};
  }
  void Observe(float* values) const { values[0] = -1; }
  int Lives() const { return 3; }
};

STARLING_ENV(Throws);
