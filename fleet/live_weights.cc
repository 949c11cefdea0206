#include "fleet/live_weights.h"

#include <algorithm>
#include <stdexcept>
#include <system_error>
#include <utility>

#include "core/log.h"
#include "wire/runtime_dir.h"

namespace starling::fleet {

LiveWeights::LiveWeights(std::filesystem::path root, std::filesystem::path run_dir,
                         const net::ParameterLayout& layout, std::size_t shards)
    : root_(std::move(root)),
      run_dir_(std::move(run_dir)),
      layout_(layout),
      slices_(wire::CutIntoSlices(layout.size(), shards)) {}

std::optional<wire::SnapshotMeta> LiveWeights::Peek() {
  FindLearner();
  return readers_.empty() ? std::nullopt : readers_.front().Peek();
}

// The newest slice of every shard; `meta` is that of the first.
bool LiveWeights::Read(std::span<float> weights, wire::SnapshotMeta& meta) {
  for (std::size_t shard = readers_.size(); shard-- > 0;) {
    const auto [begin, size] = slices_[shard];
    if (!readers_[shard].Read(0, weights.subspan(begin, size), meta)) return false;
  }
  return true;
}

std::vector<std::filesystem::path> LiveWeights::SlicePaths(
    const std::filesystem::path& first) const {
  std::vector<std::filesystem::path> paths{first};
  while (paths.size() < slices_.size()) {
    paths.push_back(wire::RuntimeDir::SlicePath(first, paths.size()));
  }
  return paths;
}

// Opens the weights of the present learner, if there is one.
void LiveWeights::FindLearner() {
  const auto exists = [none = std::error_code()](const auto& path) mutable {
    return std::filesystem::exists(path, none);
  };
  const auto path = wire::RuntimeDir::FindSnapshot(root_, run_dir_);
  if (path == path_) return;
  path_.reset();
  readers_.clear();
  // The other shards of a learner start later than its first: try again at the next poll.
  if (!path || !std::ranges::all_of(SlicePaths(*path), exists)) return;
  path_ = path;
  try {
    for (const auto& slice : SlicePaths(*path)) {
      readers_.emplace_back(slice, slices_[readers_.size()].size, layout_.fingerprint());
    }
  } catch (const std::runtime_error& error) {
    readers_.clear();
    LogInfo("{}", error.what());  // it may have ended: the next one has another path
  }
}

}  // namespace starling::fleet
