// Temporary arrays of the ops. They only grow, and earlier arrays stay allocated, because recorded
// graphs still use them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>
#include <vector>

#include "core/memory.h"

namespace starling::net::cuda {

class Scratch {
 public:
  enum Use : std::uint8_t { kPatches, kShares, kSums, kFactor, kUses };

  explicit Scratch(Memory& memory) : memory_(memory) {}

  // Returns at least `size` elements, which are valid until the next call for the same use.
  template <class T>
  T* Get(Use use, long long size) {
    static_assert(std::is_trivially_copyable_v<T>);
    const std::size_t bytes = size * sizeof(T);
    std::vector<Buffer<std::byte>>& given = given_.at(use);
    if (given.empty() || given.back().size() < bytes) given.emplace_back(bytes, memory_);
    return reinterpret_cast<T*>(given.back().data());
  }

 private:
  Memory& memory_;
  std::array<std::vector<Buffer<std::byte>>, kUses> given_;
};

}  // namespace starling::net::cuda
