// Three ways in which gradients that many threads push become published weights, in one process:
//
//   lanes    the learner's: a dispatcher thread takes the gradients from the pushers' mailboxes, as the
//            network thread takes them from its sockets, and hands them to learner/apply/lanes.h
//   hogwild  the same dispatcher, before learner/apply/hogwild.h
//   mutex    no dispatcher: each pusher takes one mutex, applies its gradient and publishes
//            (mutex_apply.h), which spares it the two wake-ups that the others' pushers pay for
//
// On few cores the dispatcher and the applier's threads compete with the pushers, which the mutex's
// do not know: what more threads gain shows where there are cores for them.
//
// Lanes and hogwild get as many threads as there are pushers, at most one for each core. All three
// run the same optimizer loop, publish every version to the same kind of snapshot, or a newer one
// in its place, and are alike in what a pusher may do next: its own update is in what it reads
// then.
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
#include "learner/apply/update.h"
#include "wire/snapshot.h"

namespace starling::bench {

inline constexpr std::array<std::string_view, 3> kPushWays = {"lanes", "hogwild", "mutex"};

class PushWay {
 public:
  explicit PushWay(std::size_t floats) : snapshot_({}, floats, 1, 1) {}
  virtual ~PushWay() = default;

  // By pusher `who`: returns when an update of this one gradient of `samples` samples is applied
  // and published, and says which version it made. `gradient` is borrowed until then.
  virtual std::uint64_t Push(std::size_t who, std::span<const float> gradient,
                             std::uint32_t samples) = 0;

  const wire::SnapshotWriter& snapshot() const { return snapshot_; }

 protected:
  wire::SnapshotWriter snapshot_;
};

// What the pipeline of a learner decides about each update, in the order of their versions.
class Schedule {
 public:
  explicit Schedule(const Config& config) : config_(config) {}
  // Of no update yet.
  wire::SnapshotMeta Initial() const { return MetaNow(); }
  // Makes `update` the next one, of this gradient alone.
  void Stamp(learner::Update& update, std::span<const float> gradient, std::uint32_t samples);

 private:
  wire::SnapshotMeta MetaNow() const;

  const Config config_;
  std::uint64_t steps_ = 0, version_ = 0;
};

// `way` of kPushWays; version 0 is `weights`.
std::unique_ptr<PushWay> MakePushWay(std::string_view way, const Config& config,
                                     std::span<const float> weights, std::size_t pushers);

}  // namespace starling::bench
