// The newest weights for those who ask for them: read and hashed once, whoever asks.
//
// Thread safety: none; one thread.
#pragma once

#include <cstddef>

#include "wire/codec.h"
#include "wire/snapshot.h"

namespace starling::learner {

class NewestWeights {
 public:
  explicit NewestWeights(const wire::SnapshotWriter& writer) : reader_(writer) {}

  // False: writers were quicker than we; whoever asked asks again.
  bool Look();

  const wire::SnapshotMeta& meta() const { return meta_; }
  const wire::SharedTensor& values() const { return values_; }

 private:
  wire::SnapshotReader reader_;
  wire::SnapshotMeta meta_;  // term 0: nothing was read
  wire::SharedTensor values_;
};

}  // namespace starling::learner
