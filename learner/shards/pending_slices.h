// The slices of gradients that a shard has and about which the learner's first has not decided. Of
// those that come under one name, from whom ever, one at a time is reported; the others wait for
// their turn.
//
// Thread safety: none; the network thread's.
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
  std::string peer;  // the connection that it came over
  wire::Envelope envelope;
  std::span<const float> values;  // in it
};

class PendingSlices {
 public:
  // `most`: of one connection.
  explicit PendingSlices(std::size_t most) : most_(most) {}

  // Why it is not taken: "duplicate" (its connection has one under this name here) or "too many";
  // "" if it is.
  std::string Hold(const GradientName& name, HeldSlice slice);
  // The one whose turn it is, if there is any.
  const HeldSlice* First(const GradientName& name) const;
  std::optional<HeldSlice> TakeFirst(const GradientName& name);

 private:
  const std::size_t most_;
  std::map<GradientName, std::deque<HeldSlice>> held_;  // none is empty
  std::map<std::string, std::size_t> of_;               // how many, by connection
};

}  // namespace starling::learner
