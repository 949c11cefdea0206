// The applying half of the learner. The flat vector is cut into lanes at multiples of 16 floats;
// each lane is a thread that alone writes its slice of the weights and of the optimizer's state.
// Updates reach the lanes in order through single-producer rings; the lane that is the last to
// finish an update publishes the version. No mutex, and the result depends only on the order of the
// updates.
//
// Thread safety: Submit, Idle, CaptureNow and the destructor belong to one thread (the network
// thread); Completed may be called from any.
// Invariants: an Update is the lanes' from Submit until Completed() >= its version; at most
// kMaxUpdatesInLanes are, so the snapshot of the newest published version is never written.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <thread>
#include <vector>

#include "learner/optimizer.h"
#include "learner/ring.h"
#include "wire/snapshot.h"

namespace starling::learner {

inline constexpr std::size_t kMaxUpdatesInLanes = wire::kSnapshotSlots - 1;

// Weights and optimizer state of one version.
struct Capture {
  std::vector<float> weights;
  std::vector<std::vector<float>> state;  // in the order of OptimizerSpec::slots
};

struct GradientRef {
  std::span<const float> values;  // borrowed until the update is completed
  float weight = 1;               // m_k / n
};

// One update, made by the network thread. Everything but the results is read-only for the lanes.
struct Update {
  std::uint64_t version = 0;           // that it produces: one more than the one submitted before
  std::vector<GradientRef> gradients;  // in the order of summation, at least one
  double lr = 0;
  double scale = 1;                  // of the step, after the normalisation
  std::uint64_t optimizer_step = 1;  // updates including this one
  wire::SnapshotMeta meta;           // published with the version; meta.version == version
  bool hash = false;
  std::shared_ptr<Capture> capture;  // null, or filled with this version

  // Results, valid once Completed() >= version.
  std::uint64_t WeightsHash() const { return weights_hash.load(std::memory_order_relaxed); }

  // The lanes' own. Relaxed sums into weights_hash are ordered by lanes_left.
  std::atomic<std::uint64_t> weights_hash{0};
  std::atomic<int> lanes_left{0};
};

// The hash of a weight vector whose size is a multiple of 16: the sum (mod 2^64) over its groups of
// 16 floats of XXH3 of the group's bytes, seeded with the group's index. A sum, so that lanes can
// add their parts in any order. `first_group` is the index of the first group in `weights`.
std::uint64_t HashWeights(std::span<const float> weights, std::size_t first_group = 0);

struct LanesSpec {
  int threads = 1;
  OptimizerSpec optimizer;
  std::size_t size = 0;  // floats, a multiple of 16
};

class Lanes {
 public:
  // `state` holds spec.size floats for each of spec.optimizer.slots, or is empty: zeros.
  // Publishes `weights` as `initial` (any version) before it returns. `on_progress` is called by a
  // lane thread after Completed() has moved; it must not block (it writes an eventfd, say).
  Lanes(const LanesSpec& spec, std::span<const float> weights,
        std::span<const std::vector<float>> state, wire::SnapshotWriter& snapshot,
        const wire::SnapshotMeta& initial, std::function<void()> on_progress);
  // Finishes what was submitted, then joins.
  ~Lanes();
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  // False if kMaxUpdatesInLanes updates are unfinished: nothing happened. Never waits.
  bool Submit(Update* update);

  // The highest version that is applied, published, and no longer touched by any lane.
  std::uint64_t Completed() const {
    return completed_.load(std::memory_order_acquire);  // partner: the release store in Finish
  }
  std::uint64_t Submitted() const { return submitted_; }
  bool Idle() const { return Completed() == submitted_; }

  // Weights and state of version Completed(). CHECKs that the lanes are idle.
  Capture CaptureNow() const;

  // Time that the lanes have worked since they began, on average over them. The network thread's.
  std::int64_t BusyNs() const;

  int threads() const { return static_cast<int>(lanes_.size()); }

 private:
  struct Lane;
  void Run(Lane& lane);
  void Apply(Lane& lane, Update& update);
  void Finish(Update& update);

  const LanesSpec spec_;
  wire::SnapshotWriter& snapshot_;
  const std::function<void()> on_progress_;

  struct FreeAligned {
    void operator()(float* floats) const;
  };
  using AlignedFloats = std::unique_ptr<float[], FreeAligned>;
  static AlignedFloats MakeAligned(std::size_t size);

  // Each lane writes its own slice only; the network thread reads when idle.
  AlignedFloats weights_;
  std::vector<AlignedFloats> state_;

  std::uint64_t submitted_;  // network thread's
  // Written by the last lane of each version; one version's last lane is ordered before the next's,
  // because it must itself have counted down the next.
  alignas(kCacheLine) std::atomic<std::uint64_t> completed_;
  std::atomic<bool> stop_{false};
  std::vector<std::unique_ptr<Lane>> lanes_;
};

}  // namespace starling::learner
