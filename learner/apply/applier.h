// An applier applies updates to the weights and publishes them, without a lock, in threads of its
// own. `learner.apply` selects one of two: lanes (lanes.h), where each thread applies its slice of
// every update, and hogwild (hogwild.h), where each thread applies whole updates while the others
// apply theirs.
//
// Thread safety: Submit, Submitted, Idle, CaptureNow, BusyNs and the destructor belong to one
// thread (the network thread); Completed may be called from any.
// Invariants: an Update and the gradients it names belong to the applier from Submit until
// Completed() >= its version. At most capacity() updates are unfinished. Version v is completed
// only when every version before it is, and the newest snapshot holds all of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "learner/apply/optimizer.h"
#include "learner/apply/update.h"
#include "wire/snapshot.h"

namespace starling::learner {

struct ApplierSpec {
  int threads = 1;
  OptimizerSpec optimizer;
  std::size_t size = 0;  // floats, a multiple of 16
};

class Applier {
 public:
  virtual ~Applier() = default;  // finishes the submitted updates, then joins the threads

  // Returns false, and does nothing, if capacity() updates are unfinished. Never waits.
  virtual bool Submit(Update* update) = 0;

  // Returns the highest completed version. It and all before it are applied; each is published, or
  // skipped because a newer one is; no thread touches their updates any more.
  virtual std::uint64_t Completed() const = 0;
  virtual std::uint64_t Submitted() const = 0;
  bool Idle() const { return Completed() == Submitted(); }

  // Returns weights and state of version Completed(). REQUIRES: Idle().
  virtual StateCopy CaptureNow() const = 0;

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
// Completed() has moved; it must not block (it may write an eventfd).
std::unique_ptr<Applier> MakeApplier(ApplyMode mode, const ApplierSpec& spec,
                                     std::span<const float> weights,
                                     std::span<const std::vector<float>> state,
                                     wire::SnapshotWriter& snapshot,
                                     const wire::SnapshotMeta& initial,
                                     std::function<void()> on_progress);

}  // namespace starling::learner
