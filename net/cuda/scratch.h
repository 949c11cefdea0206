// Arrays that an op needs while it runs. They only grow, and what was given before stays allocated:
// recorded graphs go on using it.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "core/buffer.h"

namespace starling::net::cuda {

class Scratch {
 public:
  enum Use : std::uint8_t { kPatches, kShares, kSums, kFactor, kUses };

  explicit Scratch(Memory& memory) : memory_(memory) {}

  // At least `size`; what they hold is lost at the next call for the same use.
  template <class T>
  T* Get(Use use, long long size) {
    static_assert(std::is_trivially_copyable_v<T>);
    const std::size_t bytes = static_cast<std::size_t>(size) * sizeof(T);
    std::vector<Buffer<std::byte>>& given = given_.at(use);
    if (given.empty() || given.back().size() < bytes) given.emplace_back(bytes, memory_);
    return reinterpret_cast<T*>(given.back().data());
  }

 private:
  Memory& memory_;
  std::array<std::vector<Buffer<std::byte>>, kUses> given_;
};

}  // namespace starling::net::cuda
