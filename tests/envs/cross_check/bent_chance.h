// Random draws that cluster, so that play gets into corners that even draws would take ages to
// reach: crowds in one row, nothing but gold, reals on the very edge of a rule.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

#include <fmt/format.h>

#include "core/random.h"

namespace starling::envs::cross_check {

// Plain data: a copy draws the same again, which is how a player looks ahead.
class BentChance {
 public:
  explicit BentChance(const StreamId& id) : stream_(id) {}

  // Starts a step; now and then the bend changes. Draws of a step are identified by their place in
  // it; the sticky action's (place 0) is never bent.
  void NextStep() {
    place_ = 0;
    if (stream_.Below(kHoldSteps) != 0) return;
    bend_ = kBends[stream_.Below(kBends.size())];
    for (double& favourite : favourites_) favourite = stream_.UniformDouble();
  }

  double Uniform() {
    const double bent = Bent();
    return stream_.Below(kEdgePeriod) != 0 ? bent : kEdges[stream_.Below(kEdges.size())];
  }
  int Below(int n) { return std::min(static_cast<int>(Bent() * n), n - 1); }
  int Between(int low, int high) { return low + Below(high - low); }

 private:
  static constexpr std::uint32_t kHoldSteps = 150, kEdgePeriod = 50;
  static constexpr std::array<double, 4> kBends = {0, 0, 0.5, 0.95};
  // The neighbours of a half, but not a half: with it the package's freeway gives a car no
  // direction and fails to show it.
  static constexpr std::array<double, 8> kEdges = {0,
                                                   0.09999999999999999,
                                                   0.1,
                                                   0.33333333333333326,
                                                   1.0 / 3,
                                                   0.33333333333333337,
                                                   0.49999999999999994,
                                                   0.5000000000000001};
  static constexpr std::size_t kPlaces = 8;

  double Bent() {
    const std::size_t place = place_++;
    const double even = stream_.UniformDouble(), choice = stream_.UniformDouble();
    return place > 0 && choice < bend_ ? favourites_[place % kPlaces] : even;
  }

  RandomStream stream_;
  double bend_ = 0;  // the chance that a draw is the favourite of its place
  std::array<double, kPlaces> favourites_{};
  std::size_t place_ = 0;
};

// Passes draws on and writes them down as a recording has them (envs/trace.h).
class RecordingChance {
 public:
  RecordingChance(BentChance& source, std::string& log) : source_(source), log_(log) {}

  double Uniform() {
    const double value = source_.Uniform();
    Write(fmt::format(R"(["rand",[],{:.17g}])", value));
    return value;
  }
  int Below(int n) {
    const int value = source_.Below(n);
    Write(fmt::format(R"(["randint",[{}],{}])", n, value));
    return value;
  }
  int Between(int low, int high) {
    const int value = source_.Between(low, high);
    Write(fmt::format(R"(["randint",[{},{}],{}])", low, high, value));
    return value;
  }

 private:
  void Write(const std::string& draw) {
    if (!log_.empty()) log_ += ',';
    log_ += draw;
  }

  BentChance& source_;
  std::string& log_;
};

}  // namespace starling::envs::cross_check
