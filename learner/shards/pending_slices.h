// The slices that a shard holds until shard 0 decides about them. Several connections may send a
// slice under the same name; one at a time is reported to shard 0, the others queue behind it.
//
// Thread safety: none; it belongs to the network thread.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "learner/shards/gradient_assembler.h"
#include "wire/socket.h"

namespace starling::learner {

struct HeldSlice {
  std::string peer;  // identity of the connection that sent it
  wire::Envelope envelope;
  std::span<const float> values;  // points into the envelope
};

class PendingSlices {
 public:
  // Holds at most `most` slices of one connection.
  explicit PendingSlices(std::size_t most) : most_(most) {}

  // Returns "" if the slice is taken, else why not: "duplicate" (its connection already has a slice
  // under this name) or "too many".
  std::string Hold(const GradientName& name, HeldSlice slice);
  // Returns the first slice under `name`, or nullptr.
  const HeldSlice* First(const GradientName& name) const;
  // Removes and returns it, or nullopt.
  std::optional<HeldSlice> TakeFirst(const GradientName& name);

 private:
  const std::size_t most_;
  std::map<GradientName, std::deque<HeldSlice>> held_;  // no deque is empty
  std::map<std::string, std::size_t> counts_;           // slices by connection; none is 0
};

}  // namespace starling::learner
