// Arrays that exist twice: in the memory of a backend, and on the host for the reference.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/memory.h"

namespace starling::net::checks {

// Memory for the arrays of one case; the next case reuses it.
class Arena {
 public:
  explicit Arena(Memory& memory) : memory_(memory) {}

  struct Region {
    std::byte* there;   // in the backend's memory
    std::byte* staged;  // of equal size, in its host_side()
  };
  Region Take(std::size_t bytes);  // at a cache line
  void Reset();                    // frees everything taken
  Memory& memory() { return memory_; }

 private:
  struct Block {
    Buffer<std::byte> there, staged;
  };
  Memory& memory_;
  std::vector<Block> blocks_;
  std::size_t block_ = 0, used_ = 0;  // index of the current block, and its used bytes
};

inline constexpr int kGuard = 64;  // bytes behind an array that no op may write

// Valid until the next Reset of the arena.
template <class T, class Exact = T>
class Twin {
 public:
  // Both arrays hold `values`. The backend's begins `skip` elements after a cache line.
  Twin(Arena& arena, const std::vector<T>& values, std::size_t skip = 0)
      : exact(values.begin(), values.end()), memory_(arena.memory()) {
    const std::size_t bytes = values.size() * sizeof(T);
    Arena::Region region = arena.Take(skip * sizeof(T) + bytes + kGuard);
    there_ = reinterpret_cast<T*>(region.there) + skip;
    staged_ = reinterpret_cast<T*>(region.staged) + skip;
    std::copy(values.begin(), values.end(), staged_);
    std::fill_n(guard(), kGuard, kUntouched);
    memory_.Write(there_, staged_, bytes + kGuard);
  }

  T* there() { return there_; }
  std::size_t size() const { return exact.size(); }

  struct Content {
    std::vector<T> values;
    bool within = true;  // whether the guard is intact
  };
  // Waits for all queued work, then returns the backend's array.
  Content Read() {
    memory_.Read(staged_, there_, size() * sizeof(T) + kGuard);
    memory_.Wait();
    return {{staged_, staged_ + size()},
            std::all_of(guard(), guard() + kGuard, [](std::byte b) { return b == kUntouched; })};
  }

  std::vector<Exact> exact;

 private:
  static constexpr std::byte kUntouched{0xa5};
  std::byte* guard() { return reinterpret_cast<std::byte*>(staged_ + size()); }

  Memory& memory_;
  T *there_, *staged_;
};

using Floats = Twin<float, double>;

}  // namespace starling::net::checks
