// A copy of the newest weights for messages to actors. A version is copied and hashed once, however
// many actors fetch it.
//
// Thread safety: none; one thread at a time.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "wire/codec.h"
#include "wire/snapshot.h"

namespace starling::learner {

class NewestWeights {
 public:
  // `type`: of the elements in messages.
  NewestWeights(const wire::SnapshotWriter& writer, wire::ElementType type)
      : reader_(writer), type_(type) {}

  // Copies the newest version unless the copy is of it already. Returns false if applier threads
  // overwrote every snapshot during the read: the actor then fetches again.
  bool Refresh() {
    if (fresh()) return true;
    const std::size_t floats = reader_.floats();
    auto values = std::make_shared_for_overwrite<float[]>(floats);
    if (!reader_.Read(0, {values.get(), floats}, meta_)) {
      meta_ = {};
      return false;
    }
    values_ = {std::move(values), floats, type_};
    return true;
  }

  // A copy of exactly `version`, which is published and still kept; nullptr if it is not.
  struct Copy {
    wire::SnapshotMeta meta;
    wire::SharedTensor values;
  };
  std::unique_ptr<Copy> CopyOf(std::uint64_t version) {
    const std::size_t floats = reader_.floats();
    auto values = std::make_shared_for_overwrite<float[]>(floats);
    auto copy = std::make_unique<Copy>();
    if (!reader_.ReadVersion(version, {values.get(), floats}, copy->meta)) return nullptr;
    copy->values = {std::move(values), floats, type_};
    return copy;
  }

  // The copy is of the newest version.
  bool fresh() const { return meta_.term != 0 && reader_.Latest() == meta_.version; }
  const wire::SnapshotMeta& meta() const { return meta_; }
  const wire::SharedTensor& values() const { return values_; }

 private:
  wire::SnapshotReader reader_;
  const wire::ElementType type_;
  wire::SnapshotMeta meta_;  // term 0: no copy
  wire::SharedTensor values_;
};

}  // namespace starling::learner
