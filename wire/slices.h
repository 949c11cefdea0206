// The division of a net's flat vector among several learner processes (shards). It depends on the
// size alone, so all processes agree.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/check.h"
#include "wire/protocol.h"

namespace starling::wire {

struct Slice {
  std::size_t begin = 0, size = 0;  // floats, multiples of 16

  // Its floats before `end` of the whole vector.
  std::size_t Before(std::size_t end) const { return std::clamp(end, begin, begin + size) - begin; }

  friend bool operator==(const Slice&, const Slice&) = default;
};

// Limit of the shards of a learner: their sockets fit into one Poll.
inline constexpr std::size_t kMaxShards = kMaxShardsNamed + 1;

// Returns `count` slices of nearly equal size that cover `floats` (a multiple of 16, CHECKed) in
// order. Some are empty if there are fewer than 16 floats per slice.
inline std::vector<Slice> CutIntoSlices(std::size_t floats, std::size_t count) {
  constexpr std::size_t kGroup = 16;  // a cache line
  CHECK(floats % kGroup == 0 && count > 0, "{} floats for {} shards", floats, count);
  const std::size_t groups = floats / kGroup;
  std::vector<Slice> slices;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t begin = groups * i / count * kGroup;
    slices.push_back({.begin = begin, .size = groups * (i + 1) / count * kGroup - begin});
  }
  return slices;
}

}  // namespace starling::wire
