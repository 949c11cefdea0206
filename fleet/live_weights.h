// The newest weights of a run, read from the shared memory of its learner, from restart to restart.
//
// Thread safety: none; one thread.
#pragma once

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <vector>

#include "net/parameters.h"
#include "wire/slices.h"
#include "wire/snapshot.h"

namespace starling::fleet {

class LiveWeights {
 public:
  // `root` as RuntimeRoot. `layout` must outlive this.
  LiveWeights(std::filesystem::path root, std::filesystem::path run_dir,
              const net::ParameterLayout& layout, std::size_t shards);

  // Returns term, version and steps of the newest weights. nullopt if there is no learner, or none
  // that shares its weights.
  std::optional<wire::SnapshotMeta> Peek();
  // Copies them. Returns false, with `weights` in an unspecified state, if they are overwritten
  // meanwhile. REQUIRES: Peek has just returned something; weights.size() is that of the layout.
  bool Read(std::span<float> weights, wire::SnapshotMeta& meta);

 private:
  std::vector<std::filesystem::path> SlicePaths(const std::filesystem::path& first) const;
  void FindLearner();

  const std::filesystem::path root_, run_dir_;
  const net::ParameterLayout& layout_;
  const std::vector<wire::Slice> slices_;
  std::optional<std::filesystem::path> path_;  // of the first shard's snapshot
  std::vector<wire::SnapshotReader> readers_;  // one per shard of the learner
};

}  // namespace starling::fleet
