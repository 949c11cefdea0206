// Gradients whose slices go to several shards.
//
// Thread safety: none; both classes belong to the network thread of their process.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "wire/codec.h"
#include "wire/socket.h"

namespace starling::learner {

struct GradientName {
  std::uint32_t slot = 0, incarnation = 0;
  std::uint64_t sequence = 0;

  friend auto operator<=>(const GradientName&, const GradientName&) = default;
};

// Puts gradients together, in shard 0: the message with shard 0's slice waits here until every
// other shard has reported its slice; then the gradient is whole.
class GradientAssembler {
 public:
  // `others`: number of shards besides shard 0, at least 1.
  explicit GradientAssembler(std::size_t others) : others_(others) {}

  struct Whole {
    wire::Envelope envelope;
    wire::Message message;    // points into the envelope
    double other_square = 0;  // sum of squares of the other slices; not finite if one is not
  };
  // Shard 0's own slice arrived.
  void Arrived(wire::Envelope envelope, const wire::Message& message);
  // `shard` >= 1 reported its slice with L2 norm `norm`. A repeated report counts once.
  void Reported(const GradientName& name, std::size_t shard, double norm);
  // Returns the next whole gradient, in the order of completion, or nullopt.
  std::optional<Whole> TakeWhole();

  struct Slice {
    GradientName name;
    std::size_t shard = 0;

    friend bool operator==(const Slice&, const Slice&) = default;
  };
  // Discards all incomplete gradients of an incarnation that has ended. Returns the slices that
  // shards have reported and still hold.
  std::vector<Slice> Discard(std::uint32_t slot, std::uint32_t incarnation);

  // Returns how many gradients of an incarnation are incomplete.
  std::size_t waiting(std::uint32_t slot, std::uint32_t incarnation) const;

 private:
  struct Waiting {
    std::optional<Whole> arrived;
    // By shard. Summed in this order, so the sum does not depend on the order of arrival.
    std::map<std::size_t, double> squares;
  };
  void MoveIfWhole(std::map<GradientName, Waiting>::iterator at);

  const std::size_t others_;
  std::map<GradientName, Waiting> waiting_;
  std::deque<Whole> whole_;
};

struct HeldSlice {
  std::string peer;  // identity of the connection that sent it
  std::string key;   // public key of the sender; empty on plain sockets
  wire::HeldTensor tensor;
};

// The slices that another shard holds until shard 0 decides about them. Several connections may
// send a slice under the same name; one at a time is reported to shard 0, the others queue behind
// it.
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
