// What applies updates to the weights and publishes them: without a lock, in threads of its own.
// There are two ways, named by `learner.apply`: lanes (lanes.h), each thread a slice of every
// update, and hogwild (hogwild.h), each thread a whole update over the others'.
//
// Thread safety: Submit, Submitted, Idle, CaptureNow, BusyNs and the destructor belong to one
// thread (the network thread); Completed may be called from any.
// Invariants: an Update, and the gradients it names, are the applier's from Submit until
// Completed() >= its version; at most capacity() are. Version v is completed only when every
// version before it is, and the newest snapshot holds all of them.
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
  virtual ~Applier() = default;  // finishes what was submitted, then joins its threads

  // False if capacity() updates are unfinished: nothing happened. Never waits.
  virtual bool Submit(Update* update) = 0;

  // The highest version that is applied, as are all before it, that is published or left out
  // because a newer one is, and whose update no thread touches any more.
  virtual std::uint64_t Completed() const = 0;
  virtual std::uint64_t Submitted() const = 0;
  bool Idle() const { return Completed() == Submitted(); }

  // Weights and state of version Completed(). CHECKs that it is idle.
  virtual StateCopy CaptureNow() const = 0;

  // Time that the threads have worked since they began, on average over them.
  virtual std::int64_t BusyNs() const = 0;

  virtual int threads() const = 0;
  // Updates that may be unfinished at a time.
  virtual std::size_t capacity() const = 0;
  // Whether the weights of a version depend on the order of the updates alone. Then it can be
  // hashed and captured while later updates run; if not, an update may land before one that was
  // submitted earlier, and a capture may hold bits of later ones.
  virtual bool in_order() const = 0;
};

// `state` holds spec.size floats for each of spec.optimizer.slots, or is
// empty: zeros. Publishes `weights` as `initial` (any version) before it returns. `on_progress` is
// called by a thread of the applier after Completed() has moved; it must not block (it writes an
// eventfd, say).
std::unique_ptr<Applier> MakeApplier(ApplyMode mode, const ApplierSpec& spec,
                                     std::span<const float> weights,
                                     std::span<const std::vector<float>> state,
                                     wire::SnapshotWriter& snapshot,
                                     const wire::SnapshotMeta& initial,
                                     std::function<void()> on_progress);

}  // namespace starling::learner
