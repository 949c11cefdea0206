// The default applier. The flat vector is cut into lanes at multiples of 16 floats. Each lane is
// one thread, and it alone writes its slice of the weights and of the optimizer state. Updates
// reach the lanes in order through single-producer rings; the last lane to finish an update
// publishes the version. No mutex, and the result depends only on the order of the updates. The sum
// of the next update may be begun before it is submitted: each lane adds its slice into `ahead_`.
//
// Thread safety: see applier.h.
// Invariants: at most kMaxUpdatesInLanes updates are unfinished, so no lane ever writes into the
// snapshot slot of the newest published version.
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
#include "wire/snapshot.h"

namespace starling::learner {

inline constexpr std::size_t kMaxUpdatesInLanes = wire::kSnapshotSlots - 1;

class Lanes final : public Applier {
 public:
  // See MakeApplier.
  Lanes(const ApplierSpec& spec, std::span<const float> weights,
        std::span<const std::vector<float>> state, wire::SnapshotWriter& snapshot,
        const wire::SnapshotMeta& initial, std::function<void()> on_progress);
  ~Lanes() override;
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;

  bool Submit(Update* update) override;
  void SumAhead(Update* part) override;
  std::uint64_t Completed() const override {
    return completed_.load(std::memory_order_acquire);  // partner: the release store in Finish
  }
  std::uint64_t Submitted() const override { return submitted_; }
  StateCopy CaptureInto(StateCopy memory) const override;
  std::int64_t BusyNs() const override;
  int threads() const override { return static_cast<int>(lanes_.size()); }
  std::size_t capacity() const override { return kMaxUpdatesInLanes; }
  bool in_order() const override { return true; }

 private:
  struct Lane;
  class Mender;
  float* Past(std::uint64_t version, std::size_t offset) const;
  void Push(Update* update);
  void Run(Lane& lane);
  void Sum(const Lane& lane, const Update& part);
  void Apply(Lane& lane, Update& update);
  void Finish(Update& update);
  void Progress();

  const ApplierSpec spec_;
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
  AlignedFloats ahead_;  // the sum of SumAhead; allocated by its first call
  // With a correction: version v, until versions later, at (v % versions) * size.
  AlignedFloats past_;
  const std::uint64_t first_version_;

  // The network thread's.
  std::uint64_t submitted_;
  double summed_weight_ = 0;  // of the gradients in ahead_
  // Rises in order: the lane that finishes version v counts down v + 1 only after this write.
  alignas(kCacheLine) std::atomic<std::uint64_t> completed_;
  std::atomic<bool> stop_{false};
  std::vector<std::unique_ptr<Lane>> lanes_;
};

}  // namespace starling::learner
