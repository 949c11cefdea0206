// The applying half of the learner as it was published: Hogwild (Recht et al. 2011) with the shared
// RMSProp of the A3C paper (Mnih et al. 2016). Each thread takes a whole update and applies it to
// all of the weights and of the optimizer's state while other threads apply theirs: a block is
// read, changed in a copy, and the cache lines that changed are written back. Two updates that read
// a line before either has written it leave the effect of one: that is lost, and it is hogwild.
// What an update does not change it does not write, so sparse gradients lose little; gradients that
// touch different lines lose nothing.
//
// A version is the number of an update in the order of Submit; it is completed when it and all
// before it have landed. Who finishes an update publishes what is completed by then: it copies the
// weights, block by block, while others go on writing. So a snapshot called v holds all that
// updates up to v left, and may hold parts of later ones; versions may be left out. Publishing is
// one thread's at a time: a counter of finished updates says who, and nobody waits for it; who
// finds it taken leaves its update to the holder, who looks again before it lets go.
//
// A capture (a checkpoint) is read in the same way, when its version is completed: weights and
// state of version v, with what later updates had written by then. There is no hash of it. One
// thread has nobody beside it: its weights are those of the lanes, bit for bit.
//
// Thread safety: see applier.h.
// Invariants: weights and state are written by relaxed atomics alone (shared_floats.h). Of threads
// + 1 unfinished updates each thread has one and one waits; so an update begins only when all but
// the last `threads` before it have landed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "learner/apply/applier.h"
#include "learner/apply/ring.h"
#include "learner/apply/shared_floats.h"

namespace starling::learner {

class Hogwild final : public Applier {
 public:
  // As MakeApplier.
  Hogwild(const ApplierSpec& spec, std::span<const float> weights,
          std::span<const std::vector<float>> state, wire::SnapshotWriter& snapshot,
          const wire::SnapshotMeta& initial, std::function<void()> on_progress);
  ~Hogwild() override;
  Hogwild(const Hogwild&) = delete;
  Hogwild& operator=(const Hogwild&) = delete;

  bool Submit(Update* update) override;
  std::uint64_t Completed() const override {
    return completed_.load(std::memory_order_acquire);  // partner: the release store in Publish
  }
  std::uint64_t Submitted() const override { return submitted_.load(std::memory_order_relaxed); }
  StateCopy CaptureNow() const override;
  std::int64_t BusyNs() const override;
  int threads() const override { return static_cast<int>(workers_.size()); }
  std::size_t capacity() const override { return places_.size(); }
  bool in_order() const override { return false; }

 private:
  // Of an unfinished update: version v is in place v % capacity().
  struct Place {
    Update* update = nullptr;            // written by the network thread before submitted_
    std::atomic<std::uint64_t> done{0};  // the version that has landed, of those that were here
  };
  struct Worker {
    alignas(kCacheLine) std::atomic<std::int64_t> busy_ns{0};  // its own; a statistic, so relaxed
    std::thread thread;
  };
  Place& PlaceOf(std::uint64_t version) { return places_[version % places_.size()]; }

  void Run(Worker& worker);
  Update* Take();
  void Apply(const Update& update);
  void Finish(std::uint64_t version);
  void PublishAllDone();
  void Publish(std::uint64_t version);
  void ReadInto(StateCopy& capture) const;

  const ApplierSpec spec_;
  wire::SnapshotWriter& snapshot_;
  const std::function<void()> on_progress_;
  SharedFloats weights_;
  std::vector<SharedFloats> state_;
  std::vector<Place> places_;

  alignas(kCacheLine) std::atomic<std::uint64_t> submitted_;  // written by the network thread
  std::atomic<bool> stop_{false};
  Parker parker_;
  alignas(kCacheLine) std::atomic<std::uint64_t> taken_;  // versions that threads have taken
  alignas(kCacheLine) std::atomic<std::uint64_t> unseen_{
      0};  // finished, not looked at by the holder
  alignas(kCacheLine) std::atomic<std::uint64_t> completed_;  // written by the holder
  std::vector<Worker> workers_;
};

}  // namespace starling::learner
