// A copy of the newest weights for messages to actors. A version is copied and hashed once, however
// many actors fetch it.
//
// Thread safety: none; it belongs to the network thread.
#pragma once

#include <cstddef>

#include "wire/codec.h"
#include "wire/snapshot.h"

namespace starling::learner {

class NewestWeights {
 public:
  explicit NewestWeights(const wire::SnapshotWriter& writer) : reader_(writer) {}

  // Copies the newest version unless the copy is of it already. Returns false if applier threads
  // overwrote every snapshot during the read: the actor then fetches again.
  bool Refresh();

  const wire::SnapshotMeta& meta() const { return meta_; }
  const wire::SharedTensor& values() const { return values_; }

 private:
  wire::SnapshotReader reader_;
  wire::SnapshotMeta meta_;  // term 0: no copy
  wire::SharedTensor values_;
};

}  // namespace starling::learner
