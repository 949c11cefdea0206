#include "core/action_space.h"

#include <algorithm>

#include "core/check.h"

namespace starling {

void CheckActions(const ActionSpace& space, std::span<const std::int32_t> words, int first) {
  const auto width = static_cast<std::size_t>(space.width());
  CHECK(words.size() % width == 0, "{} words of {} each", words.size(), width);
  for (int env = first; !words.empty(); words = words.subspan(width), ++env) {
    for (std::size_t k = 0; k < width; ++k) {
      if (space.box()) {
        CHECK(std::isfinite(FloatOf(words[k])), "action {} of env {}", FloatOf(words[k]), env);
      } else {
        CHECK(words[k] >= 0 && words[k] < space.counts[k], "action {} of env {}, not in [0, {})",
              words[k], env, space.counts[k]);
      }
    }
  }
}

void RandomAction(const ActionSpace& space, std::span<const float> mask, RandomStream& stream,
                  std::span<std::int32_t> words) {
  CHECK(words.size() == static_cast<std::size_t>(space.width()), "{} words", words.size());
  if (space.box()) {
    for (std::int32_t& word : words) word = WordOf(2 * stream.Uniform() - 1);
    return;
  }
  std::size_t first = 0;  // of the values of a choice
  for (std::size_t k = 0; k < words.size(); ++k) {
    const auto count = static_cast<std::size_t>(space.counts[k]);
    auto allowed = mask.empty() ? mask : mask.subspan(first, count);
    first += count;
    auto forbidden = std::ranges::count(allowed, 0.0f);
    if (forbidden == space.counts[k]) allowed = {}, forbidden = 0;
    auto left = stream.Below(static_cast<std::uint32_t>(space.counts[k] - forbidden));
    // The value with so many allowed ones before it.
    std::int32_t value = 0;
    const auto skip = [&] {
      while (!allowed.empty() && allowed[static_cast<std::size_t>(value)] == 0) ++value;
    };
    for (skip(); left > 0; --left) {
      ++value;
      skip();
    }
    words[k] = value;
  }
}

}  // namespace starling
