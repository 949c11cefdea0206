// The published lock-free way to apply gradients: Hogwild (Recht et al. 2011) with the shared
// RMSProp of the A3C paper (Mnih et al. 2016). Each thread takes a whole update and applies it to
// all weights and the whole optimizer state while other threads apply theirs. It reads a block,
// changes a copy, and writes back the cache lines that changed. If two updates read a line before
// either has written it, the effect of one of them on this line is lost; that is hogwild. Unchanged
// lines are not written, so sparse gradients lose little, and gradients that touch different lines
// lose nothing.
//
// A version is the number of an update in the order of Submit. It is completed when it and all
// before it have landed. A thread that finishes an update publishes the newest completed version:
// it copies the weights, block by block, while other threads continue to write. So the snapshot of
// version v holds the effect of all updates up to v and may hold parts of later ones; versions may
// be skipped. One thread publishes at a time. A counter of finished updates selects it: a thread
// that finds publication taken leaves its update to the holder, without waiting; the holder checks
// again before it releases.
//
// A capture (for a checkpoint) is read in the same way when its version is completed: weights and
// state of version v with the writes of later updates up to that moment. It has no hash. With one
// thread the weights equal those of the lanes, bit for bit.
//
// Thread safety: see applier.h.
// Invariants: weights and state are written by relaxed atomics only (SharedFloats). At most
// threads + 1 updates are unfinished: one per thread and one queued. So an update begins only when
// all but the last `threads` updates before it have landed.
#pragma once

#include <array>
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

namespace starling::learner {

// Floats that any threads may read and write at the same time: relaxed atomics, two floats in a
// word. A reader finds old or new values, without a data race. They order nothing.
//
// They are copied out and in by blocks, because the compiler makes vector code of plain floats but
// not of atomics. With RMSProp's loop this takes three quarters of the time of a loop over single
// std::atomic_ref<float>. Blocks copied float by float take half as long again as that loop.
//
// Thread safety: every function may be called from any thread at any time.
// Invariants: offsets and sizes are multiples of 16 floats (CHECKed).
class SharedFloats {
 public:
  static constexpr std::size_t kLineFloats = 16;

  explicit SharedFloats(std::size_t size);  // zeros

  std::size_t size() const { return lines_.size() * kLineFloats; }

  // Copies [offset, offset + to.size()) into `to`.
  void Load(std::size_t offset, std::span<float> to) const;

  // Writes the cache lines (16 floats) of `now` that differ from `before`. The other lines are not
  // written, so writes of other threads to them survive.
  void StoreChanged(std::size_t offset, std::span<const float> before, std::span<const float> now);

  void Store(std::size_t offset, std::span<const float> from);

 private:
  using Word = std::atomic<std::uint64_t>;
  static_assert(Word::is_always_lock_free);
  struct alignas(64) Line {
    std::array<Word, kLineFloats / 2> words{};
  };

  void CheckRange(std::size_t offset, std::size_t size) const;
  static void StoreLine(Line& line, const float* from);

  std::vector<Line> lines_;
};

class Hogwild final : public Applier {
 public:
  // See MakeApplier.
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
  StateCopy CaptureInto(StateCopy memory) const override;
  std::int64_t BusyNs() const override;
  int threads() const override { return static_cast<int>(workers_.size()); }
  std::size_t capacity() const override { return places_.size(); }
  bool in_order() const override { return false; }

 private:
  // The place of an unfinished update: version v uses place v % capacity().
  struct Place {
    Update* update = nullptr;            // written by the network thread before submitted_
    std::atomic<std::uint64_t> done{0};  // the newest version that landed from this place
  };
  struct Worker {
    // Written by this worker only; a statistic, so relaxed.
    alignas(kCacheLine) std::atomic<std::int64_t> busy_ns{0};
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
  alignas(kCacheLine) std::atomic<std::uint64_t> taken_;  // the newest version a thread has taken
  // Updates that finished since the holder's last check; above 0 while publication is taken.
  alignas(kCacheLine) std::atomic<std::uint64_t> unseen_{0};
  alignas(kCacheLine) std::atomic<std::uint64_t> completed_;  // written by the holder only
  std::vector<Worker> workers_;
};

}  // namespace starling::learner
