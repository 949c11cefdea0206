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

  // A copy of exactly `version`, which is published and still in the snapshot; nullptr if it is
  // not. It stays until the next call.
  struct Copy {
    wire::SnapshotMeta meta;
    wire::SharedTensor values;
  };
  const Copy* CopyOf(std::uint64_t version) {
    if (kept_.meta.term != 0 && kept_.meta.version == version) return &kept_;
    const std::size_t floats = reader_.floats();
    auto values = std::make_shared_for_overwrite<float[]>(floats);
    if (!reader_.ReadVersion(version, {values.get(), floats}, kept_.meta)) {
      kept_ = {};
      return nullptr;
    }
    kept_.values = {std::move(values), floats, type_};
    return &kept_;
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
  Copy kept_;  // the last of CopyOf
};

}  // namespace starling::learner
