// The division of a net's flat vector among several learner processes (shards). It depends on the
// size alone, so all processes agree.
#pragma once

#include <cstddef>
#include <vector>

#include "wire/protocol.h"

namespace starling::wire {

struct Slice {
  std::size_t begin = 0, size = 0;  // floats, multiples of 16

  friend bool operator==(const Slice&, const Slice&) = default;
};

// Limit of the shards of a learner: their sockets fit into one Poll.
inline constexpr std::size_t kMaxShards = kMaxShardsNamed + 1;

// Returns `count` slices of nearly equal size that cover `floats` (a multiple of 16, CHECKed) in
// order. Some are empty if there are fewer than 16 floats per slice.
std::vector<Slice> CutIntoSlices(std::size_t floats, std::size_t count);

}  // namespace starling::wire
