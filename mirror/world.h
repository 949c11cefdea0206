// The ranks of a mirrored run, and what they exchange. MpiWorld is the real one; tests have one of
// threads.
//
// All ranks call the same functions in the same order. Each waits for those whose bytes it needs; a
// rank that does not come in time makes the call throw Overdue. Then nothing that was passed to it
// may be freed before the process ends: it may still be read or written.
//
// Thread safety: none; one thread of each rank.
#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <vector>

#include "wire/slices.h"

namespace starling::mirror {

// Another rank has not come within staleness.deadline_s: a whole sentence. Nothing can be exchanged
// any more.
class Overdue : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

using Bytes = std::vector<std::byte>;

class World {
 public:
  virtual ~World() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;

  // Returns the bytes of every rank, in the order of ranks.
  virtual std::vector<Bytes> Share(std::span<const std::byte> mine) = 0;
  // The same for rank 0 alone; the others get nothing.
  virtual std::vector<Bytes> Collect(std::span<const std::byte> mine) = 0;
  // Gives every rank the bytes of rank 0. Waits without a deadline.
  virtual void Broadcast(Bytes& bytes) = 0;

  // A vector in slices, one for each rank: elements of `width` bytes (2 or 4). Spread sends slice r
  // of `whole` to rank r; what rank r sends of this rank's slice, of `own` elements, comes to
  // parts + r * own. Join gives every rank the slices of all; its own is in `whole` already.
  virtual void Spread(const std::byte* whole, std::span<const wire::Slice> slices, std::byte* parts,
                      std::size_t width) = 0;
  virtual void Join(std::byte* whole, std::span<const wire::Slice> slices, std::size_t width) = 0;
};

}  // namespace starling::mirror
