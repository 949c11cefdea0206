#include "learner/apply/shared_floats.h"

#include <bit>
#include <cstring>

#include "core/check.h"

namespace starling::learner {
namespace {

// Returns whether any bit of two lines differs. The loop becomes a few vector instructions; memcmp
// would be a call.
bool Differs(const float* a, const float* b) {
  std::uint32_t bits = 0;
#pragma GCC unroll 1
  for (std::size_t i = 0; i < SharedFloats::kLineFloats; ++i) {
    bits |= std::bit_cast<std::uint32_t>(a[i]) ^ std::bit_cast<std::uint32_t>(b[i]);
  }
  return bits != 0;
}

}  // namespace

SharedFloats::SharedFloats(std::size_t size) : lines_(size / kLineFloats) {
  CHECK(size % kLineFloats == 0, "{} floats", size);
}

void SharedFloats::CheckRange(std::size_t offset, std::size_t n) const {
  CHECK(
      offset % kLineFloats == 0 && n % kLineFloats == 0 && offset <= size() && n <= size() - offset,
      "{} floats at {} of {}", n, offset, size());
}

void SharedFloats::Load(std::size_t offset, std::span<float> to) const {
  CheckRange(offset, to.size());
  const Line* line = &lines_[offset / kLineFloats];
  for (std::size_t i = 0; i < to.size(); i += kLineFloats, ++line) {
#pragma GCC unroll 8
    for (std::size_t w = 0; w < line->words.size(); ++w) {
      const std::uint64_t word = line->words[w].load(std::memory_order_relaxed);
      std::memcpy(&to[i + 2 * w], &word, sizeof word);
    }
  }
}

void SharedFloats::StoreLine(Line& line, const float* from) {
#pragma GCC unroll 8
  for (std::size_t w = 0; w < line.words.size(); ++w) {
    std::uint64_t word = 0;
    std::memcpy(&word, from + 2 * w, sizeof word);
    line.words[w].store(word, std::memory_order_relaxed);
  }
}

void SharedFloats::StoreChanged(std::size_t offset, std::span<const float> before,
                                std::span<const float> now) {
  CheckRange(offset, now.size());
  CHECK(before.size() == now.size(), "{} floats before, {} now", before.size(), now.size());
  Line* line = &lines_[offset / kLineFloats];
  for (std::size_t i = 0; i < now.size(); i += kLineFloats, ++line) {
    if (Differs(&before[i], &now[i])) StoreLine(*line, &now[i]);
  }
}

void SharedFloats::Store(std::size_t offset, std::span<const float> from) {
  CheckRange(offset, from.size());
  Line* line = &lines_[offset / kLineFloats];
  for (std::size_t i = 0; i < from.size(); i += kLineFloats, ++line) StoreLine(*line, &from[i]);
}

}  // namespace starling::learner
