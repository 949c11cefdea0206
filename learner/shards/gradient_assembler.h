// Gradients whose slices go to several shards: which of them are there whole. The message that its
// actor sends to the learner waits here until every other shard has reported its slice.
//
// Thread safety: none; the network thread's.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "wire/codec.h"
#include "wire/socket.h"

namespace starling::learner {

struct GradientName {
  std::uint32_t slot = 0, incarnation = 0;
  std::uint64_t sequence = 0;

  friend auto operator<=>(const GradientName&, const GradientName&) = default;
};

class GradientAssembler {
 public:
  // `others`: shards beside the one that the message itself goes to, at least one.
  explicit GradientAssembler(std::size_t others) : others_(others) {}

  struct Whole {
    wire::Envelope envelope;
    wire::Message message;    // borrows from the envelope
    double other_square = 0;  // sum of squares of the other slices; not finite where one is not
  };
  void Arrived(wire::Envelope envelope, const wire::Message& message);
  // By `shard`, from 1; what it says twice is counted once. `norm`: L2, of its slice.
  void Reported(const GradientName& name, std::size_t shard, double norm);
  // One that is whole now, in the order in which they became so.
  std::optional<Whole> TakeWhole();

  struct Slice {
    GradientName name;
    std::size_t shard = 0;

    friend bool operator==(const Slice&, const Slice&) = default;
  };
  // Nothing more is expected of this life of an actor. Returns what was reported and is of no use
  // now.
  std::vector<Slice> Discard(std::uint32_t slot, std::uint32_t incarnation);

  // How many of this life of an actor are not whole yet.
  std::size_t waiting(std::uint32_t slot, std::uint32_t incarnation) const;

 private:
  struct Waiting {
    std::optional<Whole> arrived;
    std::map<std::size_t, double> squares;  // by shard, summed in its order: the same every time
  };
  void Look(std::map<GradientName, Waiting>::iterator at);

  const std::size_t others_;
  std::map<GradientName, Waiting> waiting_;
  std::deque<Whole> whole_;
};

}  // namespace starling::learner
