// How the flat vector of a net is cut over several learner processes (shards): the same way for all who
// know its size.
#pragma once

#include <cstddef>
#include <vector>

#include "wire/protocol.h"

namespace starling::wire {

struct Slice {
  std::size_t begin = 0, size = 0;  // floats, multiples of 16

  friend bool operator==(const Slice&, const Slice&) = default;
};

// At most so many shards: their sockets fit into one Poll.
inline constexpr std::size_t kMaxShards = kMaxShardsNamed + 1;

// `count` slices, as equal as can be, that cover `floats` (a multiple of 16, CHECKed) in order. Some are
// empty if there are fewer than 16 floats for each.
std::vector<Slice> CutIntoSlices(std::size_t floats, std::size_t count);

}  // namespace starling::wire
