// An array in the memory of a backend and its twin on the host, which the reference is given.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/buffer.h"

namespace starling::net::checks {

// Memory for the arrays of one case, used again by the next.
class Arena {
 public:
  explicit Arena(Memory& memory) : memory_(memory) {}

  struct Place {
    std::byte* there;   // in the backend's memory
    std::byte* staged;  // as large, in its host_side()
  };
  Place Take(std::size_t bytes);  // at a cache line
  void Reset();                   // what was taken is free again
  Memory& memory() { return memory_; }

 private:
  struct Block {
    Buffer<std::byte> there, staged;
  };
  Memory& memory_;
  std::vector<Block> blocks_;
  std::size_t block_ = 0, used_ = 0;  // of blocks_, and of that one's bytes
};

inline constexpr int kGuard = 64;  // bytes behind an array which nobody may write

// The arena's until its next Reset.
template <class T, class Exact = T>
class Twin {
 public:
  // Both hold `values`. `skip`: how many elements behind the cache line it begins.
  Twin(Arena& arena, const std::vector<T>& values, std::size_t skip = 0)
      : exact(values.begin(), values.end()), memory_(arena.memory()) {
    const std::size_t bytes = values.size() * sizeof(T);
    Arena::Place place = arena.Take(skip * sizeof(T) + bytes + kGuard);
    there_ = reinterpret_cast<T*>(place.there) + skip;
    staged_ = reinterpret_cast<T*>(place.staged) + skip;
    std::copy(values.begin(), values.end(), staged_);
    std::fill_n(guard(), kGuard, kUntouched);
    memory_.Write(there_, staged_, bytes + kGuard);
  }

  T* there() { return there_; }
  std::size_t size() const { return exact.size(); }

  struct Content {
    std::vector<T> values;
    bool within = true;  // nothing was written behind its end
  };
  // What the backend's holds once everything asked for is done.
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
