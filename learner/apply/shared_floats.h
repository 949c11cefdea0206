// Floats that any threads may read and write at the same time: relaxed atomics, two floats in a
// word. A reader finds old or new values, without a data race. They order nothing.
//
// They are copied out and in by blocks, because the compiler makes vector code of plain floats but
// not of atomics. With RMSProp's loop this takes three quarters of the time of a loop over single
// std::atomic_ref<float>. Blocks copied float by float take half as long again as that loop.
//
// Thread safety: every function may be called from any thread at any time.
// Invariants: offsets and sizes are multiples of 16 floats (CHECKed).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace starling::learner {

class SharedFloats {
 public:
  static constexpr std::size_t kLineFloats = 16;

  explicit SharedFloats(std::size_t size);  // zeros

  std::size_t size() const { return lines_.size() * kLineFloats; }

  // Copies [offset, offset + to.size()) into `to`.
  void Load(std::size_t offset, std::span<float> to) const;

  // Writes the cache lines (16 floats) of `now` that differ from `before`. The other lines are not
  // written, so writes of other threads to them survive.
  void StoreChanged(std::size_t offset, std::span<const float> before, std::span<const float> now);

  void Store(std::size_t offset, std::span<const float> from);

 private:
  using Word = std::atomic<std::uint64_t>;
  static_assert(Word::is_always_lock_free);
  struct alignas(64) Line {
    std::array<Word, kLineFloats / 2> words{};
  };

  void CheckRange(std::size_t offset, std::size_t size) const;
  static void StoreLine(Line& line, const float* from);

  std::vector<Line> lines_;
};

}  // namespace starling::learner
