// An applier applies updates to the weights and publishes them, without a lock, in threads of its
// own. `learner.apply` selects one of two: lanes (lanes.h), where each thread applies its slice of
// every update, and hogwild (hogwild.h), where each thread applies whole updates while the others
// apply theirs.
//
// Thread safety: Submit, SumAhead, Submitted, Idle, BusyNs and the destructor belong to one thread
// (the network thread); so do CaptureNow and CaptureInto, or to another one while that thread calls
// nothing else. Completed may be called from any.
// Invariants: an Update and the gradients it names belong to the applier from Submit until
// Completed() >= its version, from SumAhead until Summed(). At most capacity() updates are
// unfinished. Version v is completed only when every version before it is, and the newest snapshot
// holds all of them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "learner/apply/optimizer.h"
#include "wire/snapshot.h"

namespace starling::learner {

// Weights and optimizer state of one version.
struct StateCopy {
  std::vector<float> weights;
  std::vector<std::vector<float>> state;  // in the order of OptimizerSpec::slots
};

struct GradientRef {
  std::span<const float> values;  // borrowed until the update is completed
  float weight = 1;               // m_k / m_0: samples relative to the first of the sum
  bool sums = true;               // its running sums count, too
  std::uint64_t staleness = 0;    // only a correction reads it
};

// One update of the weights: a step along the weighted mean of its gradients. The network thread
// makes it; the applier reads all fields, and writes only the results.
struct Update {
  std::uint64_t version = 0;  // produced by it; the previously submitted version + 1
  // In the order of the sum. There may be none if a sum was begun.
  std::vector<GradientRef> gradients;
  double weight_before = 0;  // of the gradients that SumAhead has added up before these
  bool only_sum = false;     // a part for SumAhead: nothing is applied
  double lr = 0;
  double scale = 1;                    // factor of the step after the normalisation
  std::uint64_t samples = 0;           // of all its gradients; only running sums need it
  std::uint64_t optimizer_step = 1;    // number of updates including this one
  wire::SnapshotMeta meta;             // published with the version; meta.version == version
  bool hash = false;                   // hash the weights; needs Applier::in_order
  std::shared_ptr<StateCopy> capture;  // nullptr, or to be filled with this version

  // Results, valid once the applier's Completed() >= version.
  std::uint64_t WeightsHash() const { return weights_hash.load(std::memory_order_relaxed); }
  // For a part that SumAhead took: its gradients are added, the applier does not touch it any more.
  // Partner: the release half of each lane's decrement.
  bool Summed() const { return lanes_left.load(std::memory_order_acquire) == 0; }

  // For the applier only. lanes_left orders the relaxed additions to weights_hash.
  std::atomic<std::uint64_t> weights_hash{0};
  std::atomic<int> lanes_left{0};
  std::unique_ptr<std::once_flag> capture_sized;  // of this submission
};

struct ApplierSpec {
  int threads = 1;
  OptimizerSpec optimizer;
  std::size_t size = 0;  // floats, a multiple of 16
  // What the optimizer trains, likewise; behind it are running sums (learner/apply/running_sums.h).
  std::size_t trained = SIZE_MAX;
};

class Applier {
 public:
  virtual ~Applier() = default;  // finishes the submitted updates, then joins the threads

  // Returns false, and does nothing, if capacity() updates are unfinished. Never waits.
  virtual bool Submit(Update* update) = 0;

  // Begins the sum of the next version's update, or goes on with it: adds the gradients of `part`
  // while the update waits for others. Afterwards their memory is free. Of `part` only version,
  // gradients and weight_before are read. REQUIRES: in_order(); the last part is Summed(); every
  // gradient of the update that comes later follows these in the order of its sum.
  virtual void SumAhead(Update* part);

  // Returns the highest completed version. It and all before it are applied; each is published, or
  // skipped because a newer one is; no thread touches their updates any more.
  virtual std::uint64_t Completed() const = 0;
  virtual std::uint64_t Submitted() const = 0;
  bool Idle() const { return Completed() == Submitted(); }

  // Returns weights and state of version Completed(), in `memory` if that is large enough.
  // REQUIRES: Idle().
  StateCopy CaptureNow() const { return CaptureInto({}); }
  virtual StateCopy CaptureInto(StateCopy memory) const = 0;

  // Returns the working time of the threads since they started, averaged over them.
  virtual std::int64_t BusyNs() const = 0;

  virtual int threads() const = 0;
  // Updates that may be unfinished at a time.
  virtual std::size_t capacity() const = 0;
  // Returns whether the weights of a version depend on the order of the updates alone. If so, a
  // version can be hashed and captured while later updates run. If not, an update may land before
  // one that was submitted earlier, and a capture may hold parts of later ones.
  virtual bool in_order() const = 0;
};

// `state`: spec.size floats for each of spec.optimizer.slots; empty: zeros. Publishes `weights` as
// `initial` (any version) before it returns. A thread of the applier calls `on_progress` after
// Completed() has moved, or Summed(); it must not block (it may write an eventfd).
std::unique_ptr<Applier> MakeApplier(ApplyMode mode, const ApplierSpec& spec,
                                     std::span<const float> weights,
                                     std::span<const std::vector<float>> state,
                                     wire::SnapshotWriter& snapshot,
                                     const wire::SnapshotMeta& initial,
                                     std::function<void()> on_progress);

// ---- shared by all appliers

// Returns the hash of weights: the sum (mod 2^64) over the groups of 16 floats of XXH3 of the
// group's bytes, seeded with the group's index. A sum, so that lanes can add their parts in any
// order. `first_group`: index of the first group of `weights` in the whole vector. REQUIRES: the
// size is a multiple of 16.
std::uint64_t HashWeights(std::span<const float> weights, std::size_t first_group = 0);

// Floats that are summed, applied and published together. A block is so small that the processor
// overlaps blocks: while the divider works on the roots and divisions of one, it sums the next and
// stores the previous. 0.49 ns per weight with 2048, 0.42 with 256.
inline constexpr std::size_t kApplyBlock = 256;

// Returns the weight of a gradient of `samples` in a sum whose first has `first`.
inline float RelativeWeight(std::uint64_t samples, std::uint64_t first) {
  return static_cast<float>(static_cast<double>(samples) / static_cast<double>(first));
}

// Shortens the gradients whose running sums do not count to `trained` floats. CHECKs that they have
// `size`.
void LeaveOutSums(std::size_t size, std::size_t trained, std::vector<GradientRef>& gradients);

// Mends the stale gradients of one update (learner/apply/correction.h).
class GradientMender {
 public:
  virtual ~GradientMender() = default;
  // Returns the `n` floats of `gradient` from `offset` on, mended; they stay until the next call.
  virtual const float* Mend(const GradientRef& gradient, std::size_t offset, std::size_t n) = 0;
};

// Adds weight_k * g_k over [offset, offset + n) to `sum` (n floats), in the order given; `begun`:
// something is in it already. So a sum is the same bits in one part or in many. A gradient
// whose running sums were left out adds nothing there. `mender`: for stale ones; may be nullptr.
void AddGradients(const std::vector<GradientRef>& gradients, std::size_t offset, std::size_t n,
                  bool begun, float* sum, GradientMender* mender = nullptr);

// Returns 1 / (the sum of all weights of the update).
float MeanFactor(const Update& update);
// Returns the mean gradient over [offset, offset + n): the sum in order, multiplied by `factor`. It
// is written to `room` (n floats), except for a gradient that is alone, reaches so far and is not
// mended: it is returned as it lies. `before`: n floats that SumAhead left; nullptr without.
const float* MeanGradient(const Update& update, float factor, const float* before,
                          std::size_t offset, std::size_t n, float* room,
                          GradientMender* mender = nullptr);

// Applies the mean gradient of [offset, offset + n), n = weights.size(), to these weights and their
// state: a step of the optimizer, and sums where those are. `step` is that of the update.
void ApplyTo(const ApplierSpec& spec, const Update& update, const StepSize& step,
             std::size_t offset, const float* gradient, std::span<float> weights,
             std::span<std::span<float>> state);

// Called on every Submit. CHECKs that `update` follows version `submitted` and has gradients.
void Admit(const ApplierSpec& spec, Update& update, std::uint64_t submitted);

// Returns the capture of `update`, which the first thread of the applier that asks has sized for
// the weights and `slots` vectors of state: of a large net that is no work for the network thread.
// REQUIRES: there is one.
StateCopy& CaptureOf(Update& update, std::size_t size, std::size_t slots);

}  // namespace starling::learner
