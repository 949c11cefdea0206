// Three ways to turn the gradients that many threads push into published weights, in one process:
//
//   lanes    as in the learner: a dispatcher thread takes gradients from the pushers' mailboxes, as
//            the network thread does from its sockets, and gives them to learner/apply/lanes.h
//   hogwild  the same dispatcher with learner/apply/hogwild.h
//   mutex    no dispatcher: each pusher locks one mutex, applies its gradient and publishes; this
//            saves the two wake-ups of the other ways
//
// On few cores the dispatcher and the applier's threads compete with the pushers; the mutex has no
// such threads. More threads pay only with more cores.
//
// Lanes and hogwild get as many threads as there are pushers, at most one for each core. All three
// run the same optimizer loop and publish every version, or a newer one in its place, to the same
// kind of snapshot. With all three, the next weights that a pusher reads include its own update.
//
// Thread safety: Push by each pusher in its own thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "core/config/config.h"
#include "wire/snapshot.h"

namespace starling::bench {

inline constexpr std::array<std::string_view, 3> kPushWays = {"lanes", "hogwild", "mutex"};

class PushWay {
 public:
  explicit PushWay(std::size_t floats) : snapshot_({}, floats, 1, 1) {}
  virtual ~PushWay() = default;

  // Pushes the gradient of `samples` samples of pusher `who`. Returns the version that it made,
  // once that is published. Borrows `gradient` until then.
  virtual std::uint64_t Push(std::size_t who, std::span<const float> gradient,
                             std::uint32_t samples) = 0;

  const wire::SnapshotWriter& snapshot() const { return snapshot_; }

 protected:
  wire::SnapshotWriter snapshot_;
};

// REQUIRES: `way` is in kPushWays. `weights` become version 0.
std::unique_ptr<PushWay> MakePushWay(std::string_view way, const Config& config,
                                     std::span<const float> weights, std::size_t pushers);

}  // namespace starling::bench
