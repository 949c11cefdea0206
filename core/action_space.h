// What an action is: a choice, several choices at once (MultiDiscrete), or a point of a box.
//
// An action is width() words of 32 bits: integers in [0, count) for choices, floats for a box. For
// a box, the policy draws a point of the whole space, and IntoBounds brings each coordinate between
// its bounds: the words that a policy draws, a VecEnv takes and a gradient is computed for are
// points of the whole space; only the game behind the wrappers sees bounded ones.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "core/config/words.h"
#include "core/cuda/each.h"
#include "core/random.h"

namespace starling {

enum class ActionKind : std::uint8_t { kChoices, kBox };

struct ActionSpace {
  ActionKind kind = ActionKind::kChoices;
  std::vector<std::int32_t> counts = {1};     // kChoices: the number of values of each choice
  std::vector<float> low{}, high{};           // kBox: of each coordinate; may be infinite
  ActionBounds bounds = ActionBounds::kClip;  // kBox
  bool masked = false;                        // kChoices: observations end with a mask

  static ActionSpace Choices(std::vector<std::int32_t> counts) {
    return {.counts = std::move(counts)};
  }
  static ActionSpace Choice(int count) { return Choices({count}); }
  static ActionSpace Box(std::vector<float> low, std::vector<float> high) {
    return {.kind = ActionKind::kBox, .counts = {}, .low = std::move(low), .high = std::move(high)};
  }

  bool box() const { return kind == ActionKind::kBox; }
  bool one_choice() const { return !box() && counts.size() == 1; }
  int width() const { return static_cast<int>(box() ? low.size() : counts.size()); }
  // The number of values of all choices together.
  int values() const { return std::accumulate(counts.begin(), counts.end(), 0); }
  // Numbers at the end of an observation that are not 0 where a value is allowed.
  int mask() const { return masked ? values() : 0; }
  // The numbers that a policy computes for an action: a logit for each value; or the mean, then
  // the log of the deviation, of each coordinate.
  int outputs() const { return box() ? 2 * width() : values(); }

  friend bool operator==(const ActionSpace&, const ActionSpace&) = default;
};

// A bound that limits nothing is infinite, or as large as Gymnasium's stand-ins for infinity.
HOST_DEVICE inline bool Limits(float bound) { return std::fabs(bound) <= 1e30f; }

// 0 for a NaN, the largest floats for infinities.
HOST_DEVICE inline float Finite(float value) {
  constexpr float kLargest = 3.4028234663852886e38f;
  if (!(value == value)) return 0;
  return value > kLargest ? kLargest : value < -kLargest ? -kLargest : value;
}

// The coordinate `u` of the whole space in [low, high]. Between two bounds, -1 is the lower and 1
// the upper one (kClip), or u is squashed by tanh (kTanh). Otherwise u is itself, clipped. Always
// finite, and between the bounds.
HOST_DEVICE inline float IntoBounds(float u, float low, float high, ActionBounds bounds) {
  float value = Finite(u);
  if (Limits(low) && Limits(high)) {
    const float squashed = bounds == ActionBounds::kTanh ? std::tanh(value)
                           : value < -1                  ? -1.0f
                           : value > 1                   ? 1.0f
                                                         : value;
    const float half = high / 2 - low / 2, middle = low / 2 + high / 2;
    value = std::fma(half, squashed, middle);  // rounded once, on every processor
  }
  return value < low ? low : value > high ? high : value;
}

constexpr std::int32_t WordOf(float value) { return std::bit_cast<std::int32_t>(value); }
constexpr float FloatOf(std::int32_t word) { return std::bit_cast<float>(word); }

// CHECKs that `words` (n, width()) are actions of `space`, those of env `first` and of the n - 1
// envs behind it.
void CheckActions(const ActionSpace& space, std::span<const std::int32_t> words, int first);

// Draws an action: values uniformly (of those that `mask` allows, if it is not empty; of all where
// it allows none), coordinates uniformly in [-1, 1].
void RandomAction(const ActionSpace& space, std::span<const float> mask, RandomStream& stream,
                  std::span<std::int32_t> words);

}  // namespace starling
